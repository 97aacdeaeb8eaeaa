"""Write Portcullis plugins in Python: plain functions become MCP tools. See README.md."""

from . import agent_tools, checkpoint, connections, events, http, log, meter, output, progress, publish, questions, state, steering
from .client import ask, confirm, connect, open_url, roots, sample, supported
from .completion import Complete, Completion, Typed
from .content import Audio, Content, EmbeddedResource, Image, Message, ResourceLink, Text, ToolResult
from .context import Context
from .doubt import NOT_DONE, Doubt, reconcile
from .errors import (
    Cancelled,
    Declined,
    Denied,
    Dismissed,
    Exhausted,
    InvalidArguments,
    NotFound,
    ToolError,
    Unsupported,
)
from .plugin import prompt, resource, resource_template, tool
from .questions import ask_many
from .sampling import SampleAnswer, SampleTool, ToolOutcome, ToolUse
from .schema import Format, Length, Range, Title

__all__ = [
    "Audio",
    "Cancelled",
    "Complete",
    "Completion",
    "Content",
    "Context",
    "Declined",
    "Denied",
    "Dismissed",
    "Doubt",
    "EmbeddedResource",
    "Exhausted",
    "Format",
    "Image",
    "InvalidArguments",
    "Length",
    "Message",
    "NOT_DONE",
    "NotFound",
    "Range",
    "ResourceLink",
    "SampleAnswer",
    "SampleTool",
    "Text",
    "Title",
    "ToolError",
    "ToolOutcome",
    "ToolResult",
    "ToolUse",
    "Typed",
    "Unsupported",
    "agent_tools",
    "ask",
    "ask_many",
    "checkpoint",
    "confirm",
    "connect",
    "connections",
    "events",
    "http",
    "log",
    "meter",
    "open_url",
    "output",
    "progress",
    "prompt",
    "publish",
    "questions",
    "reconcile",
    "resource",
    "resource_template",
    "roots",
    "sample",
    "state",
    "steering",
    "supported",
    "tool",
]
