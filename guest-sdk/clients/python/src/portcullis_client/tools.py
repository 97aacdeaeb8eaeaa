"""A function as a tool: its name, schemas and arguments from its signature."""

import dataclasses
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

MAX_TOOLS = 128
"""How many tools a declaration may have."""

_MAX_NAME = 128


class InvalidArgumentsError(ValueError):
    """The arguments do not suit the tool; the message is fit for the server."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool of this client, ready to be declared and run."""

    name: str
    description: str | None
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    annotations: dict[str, Any]
    private: bool
    max_calls: int | None
    function: Callable[..., Any]
    """Called with what `parse` gives, as keywords."""
    parse: Callable[[Mapping[str, Any]], dict[str, Any]]
    """Checks arguments and makes Python values of them; raises `InvalidArgumentsError`."""

    def declaration(self) -> dict[str, Any]:
        """The tool as the extension's settings list it."""
        declared: dict[str, Any] = {"name": self.name, "inputSchema": self.input_schema}
        if self.description:
            declared["description"] = self.description
        if self.output_schema is not None:
            declared["outputSchema"] = self.output_schema
        if self.annotations:
            declared["annotations"] = self.annotations
        if self.private:
            declared["private"] = True
        if self.max_calls is not None:
            declared["limits"] = {"calls": self.max_calls}
        return declared

    @property
    def read_only(self) -> bool:
        """Whether the tool says of itself that it changes nothing."""
        return self.annotations.get("readOnlyHint") is True


def checked_name(name: str) -> str:
    """`name`, if a declaration may have it."""
    if not 1 <= len(name) <= _MAX_NAME or any(c.isspace() or not c.isprintable() for c in name):
        raise ValueError(f"{name!r} is no name for a tool: 1 to {_MAX_NAME} characters without spaces are")
    return name


def from_signature(
    function: Callable[..., Any],
) -> tuple[dict[str, Any], Callable[[Mapping[str, Any]], dict[str, Any]]]:
    """The input schema of a function with type hints, and what checks its arguments."""
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    parameters: dict[str, str] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{parameter.name!r} of {function.__name__} must be an ordinary parameter with a name")
        default = ... if parameter.default is parameter.empty else parameter.default
        # Under a name of our own: pydantic has its views on fields called `schema` or `_day`.
        field = f"parameter_{len(fields)}"
        parameters[field] = parameter.name
        fields[field] = (hints.get(parameter.name, Any), Field(default, alias=parameter.name))
    model: type[BaseModel] = create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)
    schema = model.model_json_schema(by_alias=True)
    schema.pop("title", None)
    schema.setdefault("properties", {})

    def parse(arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            parsed = model.model_validate(dict(arguments), by_alias=True)
        except ValidationError as error:
            raise InvalidArgumentsError(_told(error)) from error
        return {name: getattr(parsed, field) for field, name in parameters.items()}

    return schema, parse


def _told(error: ValidationError) -> str:
    """What is wrong, without the values: they are in the server's hands already, and may be long."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, p['loc'])) or 'arguments'}: {p['msg']}" for p in problems[:8])


def from_schema(schema: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """What checks arguments against a JSON schema (2020-12)."""
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(dict(schema))

    def parse(arguments: Mapping[str, Any]) -> dict[str, Any]:
        error = best_match(validator.iter_errors(dict(arguments)))
        if error is not None:
            where = ".".join(map(str, error.absolute_path)) or "arguments"
            raise InvalidArgumentsError(f"{where}: {error.message[:200]}")
        return {"arguments": dict(arguments)}

    return parse


def output_schema(function: Callable[..., Any]) -> dict[str, Any] | None:
    """The schema of what the function returns, if its hint says that it is an object."""
    hint = get_type_hints(function, include_extras=True).get("return")
    if hint is None or hint is Any or (isinstance(hint, type) and issubclass(hint, CallToolResult)):
        return None
    try:
        schema = TypeAdapter(hint).json_schema(mode="serialization")
    except (PydanticSchemaGenerationError, PydanticUserError):
        return None
    return schema if schema.get("type") == "object" else None


def as_result(returned: Any) -> CallToolResult:
    """What a function returned, as MCP says it: a string as text, other values as structured content too."""
    match returned:
        case CallToolResult():
            return returned
        case None:
            return CallToolResult(content=[])
        case str():
            return CallToolResult(content=[TextContent(type="text", text=returned)])
    plain = TypeAdapter(type(returned)).dump_python(returned, mode="json", by_alias=True)
    text = TextContent(type="text", text=json.dumps(plain, ensure_ascii=False))
    return CallToolResult(content=[text], structured_content=plain if isinstance(plain, dict) else {"result": plain})
