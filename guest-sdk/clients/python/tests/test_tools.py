"""Functions as tools: schemas, arguments, results."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from portcullis_client import ClientTools
from portcullis_client.tools import InvalidArgumentsError, as_result


class Slot(BaseModel):
    hour: int


def test_signature_becomes_schema() -> None:
    tools = ClientTools()

    @tools.tool(name="calendar.free_slots", read_only=True, private=True, max_calls=20)
    def free_slots(day: Annotated[str, Field(description="ISO date")], schema: int = 3) -> Slot:
        """Free time
        on one day.

        Not for the server.
        """
        return Slot(hour=schema)

    [declared] = tools.settings()["tools"]
    assert declared["name"] == "calendar.free_slots"
    assert declared["description"] == "Free time on one day."
    assert declared["inputSchema"] == {
        "type": "object",
        "properties": {
            "day": {"type": "string", "title": "Day", "description": "ISO date"},
            "schema": {"type": "integer", "title": "Schema", "default": 3},
        },
        "required": ["day"],
        "additionalProperties": False,
    }
    assert declared["outputSchema"]["properties"]["hour"]["type"] == "integer"
    assert declared["annotations"] == {"readOnlyHint": True}
    assert declared["private"] is True
    assert declared["limits"] == {"calls": 20}


def test_arguments_are_checked_and_converted() -> None:
    tools = ClientTools()

    @tools.tool
    def book(slot: Slot) -> None: ...

    parse = tools.tools["book"].parse
    assert parse({"slot": {"hour": 9}}) == {"slot": Slot(hour=9)}
    with pytest.raises(InvalidArgumentsError, match=r"slot.hour: Input should be a valid integer"):
        parse({"slot": {"hour": "nine"}})
    with pytest.raises(InvalidArgumentsError, match=r"other: Extra inputs"):
        parse({"slot": {"hour": 9}, "other": 1})


def test_a_schema_of_ones_own() -> None:
    tools = ClientTools()
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tools.add("double", lambda arguments: arguments["n"] * 2, schema, description="Twice as much.")
    assert tools.settings()["tools"] == [
        {"name": "double", "description": "Twice as much.", "inputSchema": schema},
    ]
    with pytest.raises(InvalidArgumentsError, match="n: 'x' is not of type 'integer'"):
        tools.tools["double"].parse({"n": "x"})


def test_allow_keeps_others_out() -> None:
    tools = ClientTools(allow=["calendar.*"])
    tools.add("calendar.free", lambda _: None, {"type": "object"})
    tools.add("mail.send", lambda _: None, {"type": "object"})
    assert list(tools.tools) == ["calendar.free"]


@dataclass
class Point:
    x: int


@pytest.mark.parametrize(
    ("returned", "text", "structured"),
    [
        ("plain", "plain", None),
        (None, None, None),
        ({"a": 1}, '{"a": 1}', {"a": 1}),
        ([1, 2], "[1, 2]", {"result": [1, 2]}),
        (Slot(hour=9), '{"hour": 9}', {"hour": 9}),
        (Point(1), '{"x": 1}', {"x": 1}),
        (CallToolResult(content=[TextContent(type="text", text="own")]), "own", None),
    ],
)
def test_results(returned: Any, text: str | None, structured: Any) -> None:
    result = as_result(returned)
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    assert texts == ([] if text is None else [text])
    assert result.structured_content == structured


@pytest.mark.parametrize("name", ["", "a b", "a\n", "x" * 129])
def test_names(name: str) -> None:
    with pytest.raises(ValueError, match="no name for a tool"):
        ClientTools().add(name, lambda _: None, {"type": "object"})


def test_declared_tools_are_fixed() -> None:
    tools = ClientTools()
    tools.settings()
    with pytest.raises(RuntimeError, match="declared its tools already"):
        tools.add("late", lambda _: None, {"type": "object"})


def test_twice_and_too_many() -> None:
    tools = ClientTools()
    for number in range(128):
        tools.add(f"t{number}", lambda _: None, {"type": "object"})
    with pytest.raises(ValueError, match="already"):
        tools.add("t1", lambda _: None, {"type": "object"})
    with pytest.raises(ValueError, match="at most 128"):
        tools.add("t128", lambda _: None, {"type": "object"})


def test_variadic_functions_have_no_schema() -> None:
    def anything(*values: int) -> None: ...

    with pytest.raises(TypeError, match="ordinary parameter"):
        ClientTools().tool(anything)
