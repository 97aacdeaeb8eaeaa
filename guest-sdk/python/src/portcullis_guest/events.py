"""Events for the principal of the call, kept in an inbox that clients read and watch. The manifest requests them,
`events = ["policy.*"]`, and the operator grants them."""

from typing import Any

from . import encoding
from .errors import EventError
from .host import host


def emit(name: str, payload: Any = None, *, once: str | None = None) -> bool:
    """Adds an event. `name` are words with dots between them, such as `policy.effective`; `payload` is written as JSON. With the key
    `once`, it is not added again within a day; returns whether it was added."""
    try:
        text = encoding.dumps(payload)
    except (TypeError, ValueError) as error:
        raise EventError("invalid", f"the event cannot be sent: the payload cannot be written as JSON: {error}") from error
    return host().emit_event(name, text, once)
