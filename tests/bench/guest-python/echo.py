"""The echo that the benchmark measures, in Python and written straight on the WIT."""

import json

from wit_world import exports
from wit_world.imports.types import (
    Content,
    ContentData_Text,
    Execution,
    Tool,
    ToolAnnotations,
    ToolResult,
)

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string", "maxLength": 1048576}},
    "required": ["text"],
    "additionalProperties": False,
}


class Tools(exports.Tools):
    def list_tools(self):
        return [
            Tool(
                name="echo",
                title=None,
                description="Says the text again.",
                input_schema=json.dumps(SCHEMA),
                output_schema=None,
                annotations=ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False),
                execution=Execution.INLINE,
                icons=[],
            )
        ]

    def call_tool(self, ctx, name, arguments):
        text = json.loads(arguments)["text"]
        return ToolResult(
            content=[Content(data=ContentData_Text(text), annotations=None)], structured=None, is_error=False
        )
