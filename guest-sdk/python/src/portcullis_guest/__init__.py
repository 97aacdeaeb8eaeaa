"""Write Portcullis plugins in Python: plain functions become MCP tools. See README.md."""

from . import agent_tools, checkpoint, http, log, output, progress, state, steering
from .client import Message, SampleAnswer, ask, confirm, sample
from .content import Audio, Content, EmbeddedResource, Image, ResourceLink, Text, ToolResult
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
from .plugin import Context, prompt, resource, resource_template, tool
from .schema import Format, Length, Range, Title

__all__ = [
    "Audio",
    "Cancelled",
    "Content",
    "Context",
    "Declined",
    "Denied",
    "Dismissed",
    "EmbeddedResource",
    "Exhausted",
    "Format",
    "Image",
    "InvalidArguments",
    "Length",
    "Message",
    "NotFound",
    "Range",
    "ResourceLink",
    "SampleAnswer",
    "Text",
    "Title",
    "ToolError",
    "ToolResult",
    "Unsupported",
    "agent_tools",
    "ask",
    "checkpoint",
    "confirm",
    "http",
    "log",
    "output",
    "progress",
    "prompt",
    "resource",
    "resource_template",
    "sample",
    "state",
    "steering",
    "tool",
]
