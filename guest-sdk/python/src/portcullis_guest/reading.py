"""From JSON to values of a type: what a type is made of, and what of it a value must have."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import inspect
import json
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from . import docs
from .errors import InvalidArguments

# Reads a value of JSON; the text says where it is.
Reader: TypeAlias = Callable[[Any, str], Any]


def split(hint: Any) -> tuple[Any, list[Any]]:
    """A type without `Annotated`, and what was said of it."""
    said: list[Any] = []
    while get_origin(hint) is Annotated:
        said[:0] = hint.__metadata__
        hint = hint.__origin__
    return hint, said


def optional(hint: Any) -> tuple[Any, bool]:
    """A type without None, and whether None was allowed."""
    if get_origin(hint) in (Union, types.UnionType):
        others = tuple(one for one in get_args(hint) if one is not type(None))
        if len(others) < len(get_args(hint)):
            return (others[0] if len(others) == 1 else Union[others]), True
    return hint, False


@dataclass
class Field:
    """A parameter or a field of a dataclass."""

    name: str
    hint: Any
    default: Any = inspect.Parameter.empty
    description: str | None = None

    def __post_init__(self) -> None:
        # Found out once: each call asks for them.
        self.has_default = self.default is not inspect.Parameter.empty
        self.is_optional = optional(split(self.hint)[0])[1]
        self.label = f"`{self.name}`"
        self.read = reader(self.hint)


def fields(kind: Any) -> list[Field]:
    """The fields of a dataclass, with what its docstring says of them."""
    hints = typing.get_type_hints(kind, include_extras=True)
    said = docs.parse(kind.__doc__ if not (kind.__doc__ or "").startswith(f"{kind.__name__}(") else None).entries
    found = []
    for field in dataclasses.fields(kind):
        default = field.default
        if default is dataclasses.MISSING:
            default = inspect.Parameter.empty if field.default_factory is dataclasses.MISSING else field.default_factory()
        found.append(Field(field.name, hints[field.name], default, said.get(field.name)))
    return found


def read_fields(these: list[Field], given: dict[str, Any], where: str = "") -> dict[str, Any]:
    """Parameters or fields by name. What was left out and has a default is left out."""
    found: dict[str, Any] = {}
    for field in these:
        name = field.name
        path = f"{where}.{name}" if where else field.label
        value = given.get(name)
        if value is None:
            if field.has_default:
                continue
            if not field.is_optional and name not in given:
                raise InvalidArguments(f"{path} is missing")
        found[name] = field.read(value, path)
    return found


def read(hint: Any, value: Any, where: str = "it") -> Any:
    """A value of this type from JSON. The host has checked arguments against the schema, so this fails where a type is narrower."""
    return reader(hint)(value, where)


def reader(hint: Any) -> Reader:
    """A function that reads values of this type. The type is looked at once, here, and not for each value."""
    inner, may_be_none = optional(split(hint)[0])
    read = _reader(split(inner)[0])
    return (lambda value, where: None if value is None else read(value, where)) if may_be_none else read


def _reader(hint: Any) -> Reader:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in (Any, object, inspect.Parameter.empty) or origin is Union:
        return lambda value, where: value
    if origin is Literal:
        return lambda value, where: _fit(value in arguments, value, where)
    if hint is int:
        return _read_int
    if hint is float:
        return lambda value, where: _fit(type(value) in (int, float), float(value) if type(value) is int else value, where)
    if hint in (str, bool):
        return lambda value, where: value if type(value) is hint else _fit(False, value, where)
    kind = origin or hint
    if kind in (list, tuple, set):
        return _read_items(kind, reader(arguments[0] if arguments else Any))
    if kind is dict:
        return _read_values(reader(arguments[1] if arguments else Any))
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        return lambda value, where: hint(_fit(value in [one.value for one in hint], value, where))
    if hint in (datetime.date, datetime.datetime):
        return _read_date(hint)
    if dataclasses.is_dataclass(hint):
        return _read_dataclass(hint)
    return lambda value, where: _cannot(hint, where)


def _read_int(value: Any, where: str) -> Any:
    # 3.0 is an integer in JSON Schema, and some clients send it for 3.
    whole = isinstance(value, float) and value.is_integer()
    return _fit(whole or type(value) is int, int(value) if whole else value, where)


def _read_date(kind: Any) -> Reader:
    def date(value: Any, where: str) -> Any:
        try:
            found = kind.fromisoformat(value)
        except (TypeError, ValueError):
            found = None
        if found is None or kind is datetime.datetime and found.tzinfo is None:
            example = "2026-01-31" if kind is datetime.date else "2026-01-31T09:30:00Z, with its zone"
            raise InvalidArguments(f"{where} is {json.dumps(value, default=repr)}; write it as {example}")
        return found

    return date


def _read_items(kind: Any, read: Reader) -> Reader:
    def items(value: Any, where: str) -> Any:
        _fit(isinstance(value, list), value, where)
        return kind(read(one, f"{where}[{at}]") for at, one in enumerate(value))

    return items


def _read_values(read: Reader) -> Reader:
    def values(value: Any, where: str) -> Any:
        _fit(isinstance(value, dict), value, where)
        return {key: read(one, f"{where}.{key}") for key, one in value.items()}

    return values


def _read_dataclass(hint: Any) -> Reader:
    # Found out when the first one is read: a dataclass may refer to itself.
    found: list[Any] = []

    def one(value: Any, where: str) -> Any:
        _fit(isinstance(value, dict), value, where)
        if not found:
            found.extend(fields(hint))
        return hint(**read_fields(found, value, where))

    return one


def _cannot(hint: Any, where: str) -> Any:
    raise TypeError(f"{where}: {hint!r} cannot be read from JSON")


def _fit(fits: bool, value: Any, where: str) -> Any:
    if not fits:
        raise InvalidArguments(f"{where} is {json.dumps(value, default=repr)}, which does not fit")
    return value
