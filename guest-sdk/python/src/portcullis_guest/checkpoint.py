"""Checkpoints of a long call, which go on with it in another process.

Ask `restored` once, at the beginning. What follows a `save` must depend on nothing but the saved state: a loop is the
natural form. Open files and the like are gone then.
"""

from typing import Any, TypeVar, overload

from . import encoding, reading
from .errors import CheckpointError, InvalidArguments
from .host import host

T = TypeVar("T")


@overload
def restored() -> Any: ...
@overload
def restored(kind: type[T]) -> T | None: ...
def restored(kind: Any = Any) -> Any:
    """What was saved last, or None. With a type such as a dataclass, read as that."""
    state = host().restored()
    if state is None:
        return None
    try:
        return reading.read(kind, encoding.loads(state), "the state")
    except (ValueError, InvalidArguments) as error:
        raise CheckpointError(f"what was saved is not what was expected: {error}") from error


def save(state: Any) -> None:
    """Saves a state as JSON, in the place of the last one."""
    try:
        text = encoding.dumps(state)
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"the state cannot be written as JSON: {error}") from error
    host().save(text.encode())
