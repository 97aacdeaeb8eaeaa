"""From values to JSON, and from its text to what JSON has."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
from typing import Any

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
_scan = json.JSONDecoder().scan_once


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
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        raise ValueError(f"{value} has no time zone, so it is no certain time; make it by datetime.now(UTC), or with tzinfo=")
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value


def dumps(value: Any) -> str:
    """Compact JSON."""
    return _encode(plain(value))


def loads(text: str | bytes) -> Any:
    # Without the decoder's search for white space around a value, which takes longer than to read a small one.
    if isinstance(text, str):
        try:
            value, end = _scan(text, 0)
        except (StopIteration, ValueError):
            end = -1
        if end == len(text):
            return value
    return json.loads(text)
