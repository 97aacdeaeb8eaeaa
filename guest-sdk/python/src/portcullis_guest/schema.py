"""From types to JSON Schema 2020-12."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import inspect
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

from .encoding import plain
from .reading import Field, fields, optional, split


@dataclass(frozen=True)
class Range:
    """Bounds of a number, both included: `Annotated[int, Range(1, 9)]`."""

    min: float | None = None
    max: float | None = None


@dataclass(frozen=True)
class Length:
    """The length of a text or a list: `Annotated[str, Length(max=40)]`."""

    min: int | None = None
    max: int | None = None


@dataclass(frozen=True)
class Title:
    """What people see in place of a field's name: `Annotated[str, Title("Your name")]`."""

    text: str


@dataclass(frozen=True)
class Format:
    """The format of a text: `email`, `uri`, `date` or `date-time`."""

    name: str


def of(hint: Any, *, output: bool = False, where: str = "the type") -> dict[str, Any]:
    """The schema of a type. What an output always has is required, also if it may be None."""
    hint, said = split(hint)
    inner, may_be_none = optional(hint)
    schema = _of(inner, output, where)
    # What is said inside `X | None` counts, too.
    for one in split(inner)[1] + said:
        _annotate(schema, one, where)
    if not may_be_none:
        return schema
    if "enum" in schema:
        return schema | {"type": [schema["type"], "null"], "enum": [*schema["enum"], None]}
    return schema | {"type": [schema["type"], "null"]} if "type" in schema else schema


def _of(hint: Any, output: bool, where: str) -> dict[str, Any]:
    hint = split(hint)[0]
    simple = {str: "string", bool: "boolean", int: "integer", float: "number"}.get(hint)
    if simple:
        return {"type": simple}
    if hint in (datetime.date, datetime.datetime):
        return {"type": "string", "format": "date" if hint is datetime.date else "date-time"}
    if hint in (Any, object):
        return {}
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal or (inspect.isclass(hint) and issubclass(hint, enum.Enum)):
        values = list(arguments) if origin is Literal else [one.value for one in hint]
        return {"type": _kind(values, where), "enum": values}
    if hint in (list, tuple, set) or origin in (list, tuple, set):
        items = [one for one in arguments if one is not Ellipsis]
        if len(items) != 1:
            raise TypeError(f"{where}: a list needs the type of its items, such as list[str]")
        return {"type": "array", "items": of(items[0], output=output, where=where)}
    if hint is dict or origin is dict:
        if len(arguments) != 2 or arguments[0] is not str:
            raise TypeError(f"{where}: a dict needs keys that are texts and a type of values, such as dict[str, int]")
        return {"type": "object", "additionalProperties": of(arguments[1], output=output, where=where)}
    if dataclasses.is_dataclass(hint):
        return of_fields(fields(hint), output=output)
    raise TypeError(
        f"{where}: {getattr(hint, '__name__', hint)} has no schema; take str, int, float, bool, date, datetime, list, dict, Literal, an Enum, "
        "a dataclass, or one of these or None"
    )


def of_fields(these: list[Field], *, output: bool = False) -> dict[str, Any]:
    properties, required = {}, []
    for field in these:
        schema = of(field.hint, output=output, where=f"`{field.name}`")
        if field.description:
            schema.setdefault("description", field.description)
        if field.has_default and not output and field.default is not None:
            schema["default"] = plain(field.default)
        properties[field.name] = schema
        if output or not (field.has_default or field.is_optional):
            required.append(field.name)
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def of_form(kind: Any) -> dict[str, Any]:
    """The schema of a form. Forms are flat, and a field that may be left empty has its plain type."""
    properties, required = {}, []
    for field in fields(kind):
        hint, said = split(field.hint)
        schema = of(Annotated[(optional(hint)[0], *said)] if said else optional(hint)[0], where=f"the field `{field.name}`")
        if schema.get("type") == "object" or "type" not in schema:
            raise TypeError(f"the field `{field.name}`: forms are flat; ask for nested things in a form of their own")
        if field.description:
            schema.setdefault("description", field.description)
        if field.has_default and field.default is not None:
            schema["default"] = plain(field.default)
        elif not field.is_optional:
            required.append(field.name)
        properties[field.name] = schema
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def _kind(values: list[Any], where: str) -> str:
    for kind, name in ((str, "string"), (bool, "boolean"), (int, "integer")):
        if values and all(type(value) is kind for value in values):
            return name
    raise TypeError(f"{where}: all choices must be texts, or all integers")


def _annotate(schema: dict[str, Any], said: Any, where: str) -> None:
    bounds: dict[str, Any] = {}
    match said:
        case str():
            bounds = {"description": said}
        case Title(text):
            bounds = {"title": text}
        case Format(name):
            bounds = {"format": name}
        case Range(least, most):
            if schema.get("type") not in ("integer", "number"):
                raise TypeError(f"{where}: a Range is for numbers; texts and lists have a Length")
            bounds = {"minimum": least, "maximum": most}
        case Length(least, most) if schema.get("type") == "string":
            bounds = {"minLength": least, "maxLength": most}
        case Length(least, most) if schema.get("type") == "array":
            bounds = {"minItems": least, "maxItems": most}
        case Length():
            raise TypeError(f"{where}: a Length is for texts and lists; numbers have a Range")
    schema.update({name: bound for name, bound in bounds.items() if bound is not None})
