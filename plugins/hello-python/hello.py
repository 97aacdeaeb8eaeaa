"""The tool `greet`, written straight on the WIT: `wit_world` is generated from wit/v0.1 by componentize-py.

WIT names become Python's: `list-tools` is `list_tools`, the record `tool-result` is `ToolResult`, the case `text` of
the variant `content-data` is `ContentData_Text`, an option is the value or None, an error is raised as `Err(value)`.
"""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import log, output
from wit_world.imports.types import (
    Content,
    ContentData_Text,
    Execution,
    Tool,
    ToolAnnotations,
    ToolError_InvalidArguments,
    ToolResult,
)

INPUT = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"name": {"type": "string", "description": "Whom to greet."}},
    "required": ["name"],
    "additionalProperties": False,
}


def text(words: str) -> Content:
    return Content(data=ContentData_Text(words), annotations=None)


class Tools(exports.Tools):
    def list_tools(self):
        return [
            Tool(
                name="greet",
                title="Greet",
                description="Says hello, from Python.",
                input_schema=json.dumps(INPUT),
                output_schema=None,
                annotations=ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False),
                execution=Execution.INLINE,
                icons=[],
            )
        ]

    def call_tool(self, ctx, name, arguments):
        if name != "greet":
            raise Err(ToolError_InvalidArguments(f"there is no tool named {name}; this plugin has greet"))
        whom = json.loads(arguments)["name"]
        log.write(log.Level.INFO, f"greeting {whom}")
        try:
            output.emit([text(f"looking for {whom} ...")])
        except Err:
            # A chunk only shows work in progress; the result is complete without it.
            pass
        return ToolResult(content=[text(f"Hello, {whom}!")], structured=None, is_error=False)
