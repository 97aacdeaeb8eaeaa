"""Lets an MCP server's tools call yours, take their output while they run, and speak to them meanwhile.

For clients built on the unmodified `mcp` SDK, 2.x. See `ClientTools`, `PartialResults` and `steer`.
"""

from portcullis_client.calls import (
    Allow,
    Approve,
    Call,
    Decision,
    Deny,
    Edit,
    Limits,
    ToolError,
    current_call,
)
from portcullis_client.client_tools import ClientTools, Lane, TooManyRoundsError
from portcullis_client.partial_results import Chunk, Delivery, PartialResults, Run
from portcullis_client.steering import steer
from portcullis_client.tools import Tool

__all__ = [
    "Allow",
    "Approve",
    "Call",
    "Chunk",
    "ClientTools",
    "Decision",
    "Delivery",
    "Deny",
    "Edit",
    "Lane",
    "Limits",
    "PartialResults",
    "Run",
    "TooManyRoundsError",
    "Tool",
    "ToolError",
    "current_call",
    "steer",
]
