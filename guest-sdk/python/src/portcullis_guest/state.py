"""Values that a plugin keeps between calls, separately for each principal. A value is on the host's disk when `set` returns.

Calls run beside each other: use `update` when a new value depends on the old one.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from . import encoding, reading
from .errors import InvalidArguments, StateError
from .host import Entry, host

T = TypeVar("T")

# How often `update` tries again. Each time, another call has succeeded.
_ATTEMPTS = 32


def get(key: str) -> bytes | None:
    """The value under a key, if there is one."""
    found = entry(key)
    return None if found is None else found.value


def entry(key: str) -> Entry | None:
    """The value with its version, for `swap`."""
    return host().state_get(key)


def set(key: str, value: bytes | str) -> int:
    """Stores a value. Returns its version."""
    return host().state_set(key, _bytes(value))


def swap(key: str, version: int | None, value: bytes | str) -> int:
    """Stores a value if the one there has this version; None means that there must be none. Raises StateError of the kind
    `conflict` otherwise."""
    return host().state_swap(key, version, _bytes(value))


def remove(key: str) -> bool:
    """Removes a value. Returns whether there was one."""
    return host().state_remove(key)


def keys(prefix: str = "") -> list[str]:
    """All keys that begin with `prefix`, in order."""
    found: list[str] = []
    while page := host().state_keys(prefix, found[-1] if found else None):
        found += page
    return found


def load(key: str, kind: Any = Any) -> Any:
    """The value under a key, read as JSON; None if there is none. With a type such as a dataclass, read as that."""
    found = get(key)
    return None if found is None else _read(kind, found)


def save(key: str, value: Any) -> None:
    """Stores a value as JSON."""
    set(key, _written(value))


def update(key: str, change: Callable[[Any], T], kind: Any = Any) -> T:
    """Changes a value that is stored as JSON, safely beside other calls: `change` gets the value or None, and runs again when
    another call was first. Returns what was stored."""
    for _ in range(_ATTEMPTS):
        found = entry(key)
        value = change(None if found is None else _read(kind, found.value))
        try:
            swap(key, None if found is None else found.version, _written(value))
        except StateError as error:
            if error.kind != "conflict":
                raise
        else:
            return value
    raise StateError("conflict", "somebody else changed it meanwhile")


def _bytes(value: bytes | str) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _read(kind: Any, value: bytes) -> Any:
    try:
        return reading.read(kind, encoding.loads(value), "the value")
    except (ValueError, InvalidArguments) as error:
        raise _invalid(f"what is kept is not what was expected: {error}") from error


def _written(value: Any) -> str:
    try:
        return encoding.dumps(value)
    except (TypeError, ValueError) as error:
        raise _invalid(f"the value cannot be written as JSON: {error}") from error


def _invalid(why: str) -> StateError:
    return StateError("invalid", f"it cannot be kept or read: {why}")
