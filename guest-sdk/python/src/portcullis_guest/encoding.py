"""From values to JSON and back."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
import typing
from typing import Any, Literal, Union, get_args, get_origin

from .errors import InvalidArguments


def plain(value: Any) -> Any:
    """A value as what JSON has: dataclasses are objects, members of an Enum their values."""
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(one) for one in value)
    return value


def dumps(value: Any) -> str:
    """Compact JSON."""
    return json.dumps(plain(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def loads(text: str | bytes) -> Any:
    return json.loads(text)


def read(hint: Any, value: Any, where: str = "it") -> Any:
    """A value of this type from JSON. The host has checked arguments against the schema, so this fails where a type is narrower."""
    from . import schema

    hint = schema.split(hint)[0]
    inner, may_be_none = schema.optional(hint)
    if value is None and may_be_none:
        return None
    hint = schema.split(inner)[0]
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in (Any, object, inspect.Parameter.empty):
        return value
    if origin is Literal:
        return _fit(value in arguments, value, where)
    if origin is Union:
        return value
    if hint is int:
        # 3.0 is an integer in JSON Schema, and some clients send it for 3.
        whole = isinstance(value, float) and value.is_integer()
        return _fit(whole or type(value) is int, int(value) if whole else value, where)
    if hint is float:
        return _fit(type(value) in (int, float), float(value) if type(value) is int else value, where)
    if hint in (str, bool):
        return _fit(type(value) is hint, value, where)
    kind = origin or hint
    if kind in (list, tuple, set):
        of = arguments[0] if arguments else Any
        _fit(isinstance(value, list), value, where)
        return kind(read(of, one, f"{where}[{at}]") for at, one in enumerate(value))
    if kind is dict:
        of = arguments[1] if arguments else Any
        _fit(isinstance(value, dict), value, where)
        return {key: read(of, one, f"{where}.{key}") for key, one in value.items()}
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        _fit(value in [one.value for one in hint], value, where)
        return hint(value)
    if dataclasses.is_dataclass(hint):
        _fit(isinstance(value, dict), value, where)
        return hint(**read_fields(schema.fields(hint), value, where))
    raise TypeError(f"{where}: {hint!r} cannot be read from JSON")


def read_fields(these: list, given: dict[str, Any], where: str = "") -> dict[str, Any]:
    """Parameters or fields by name. What was left out and has a default is left out."""
    found: dict[str, Any] = {}
    for field in these:
        path = f"{where}.{field.name}" if where else f"`{field.name}`"
        value = given.get(field.name)
        if value is None and field.has_default:
            continue
        if value is None and not field.is_optional and field.name not in given:
            raise InvalidArguments(f"{path} is missing")
        found[field.name] = read(field.hint, value, path)
    return found


def _fit(fits: bool, value: Any, where: str) -> Any:
    if not fits:
        raise InvalidArguments(f"{where} is {json.dumps(value, default=repr)}, which does not fit")
    return value


def hints(function: Any) -> dict[str, Any]:
    return typing.get_type_hints(function, include_extras=True)
