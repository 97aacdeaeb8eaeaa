"""Questions to the user and the model. Waiting costs no fuel, and it pauses the call's deadline.

The manifest requests them, `client = { form = true, sample = true }`, and the operator grants them. A client that cannot
answer ends the tool: nothing behind the question runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from . import questions
from .content import Message, Pieces
from .host import Abilities, Root, host
from .sampling import SampleAnswer, SampleTool, ToolChoice

T = TypeVar("T")


def ask(message: str, form: type[T], *, key: str | None = None) -> T:
    """Asks the user to fill in a form, which is a dataclass, and returns one. Raises Declined or Dismissed if the user does not.

    Fields are str, int, float, bool, Literal or an Enum, a list of these, or one of these or None, which may be left empty. A
    default is what the form begins with. `key` names the question to the client.
    """
    return questions.ask(message, form, key=key).ask()


def confirm(message: str, *, or_stop: bool = False, key: str | None = None) -> bool:
    """Asks the user for a yes. Anything else is a no, which ends the tool if `or_stop`."""
    return questions.confirm(message, or_stop=or_stop, key=key).ask()


def open_url(message: str, address: str, *, key: str | None = None) -> None:
    """Asks the user to open a page, outside the client and its model. `address` begins with `https:`, and its host must be granted.
    Raises Declined or Dismissed if the user does not agree; what happens on the page is not said."""
    questions.open_url(message, address, key=key).ask()


def connect(message: str, connection: str, *, key: str | None = None) -> None:
    """Asks the user to connect an account, one that the operator has set up; then `connections` can use it. Raises Declined or
    Dismissed if the user does not."""
    questions.connect(message, connection, key=key).ask()


def sample(
    messages: Pieces | Message | list[Message],
    *,
    system_prompt: str | None = None,
    max_tokens: int = 1_000,
    temperature: float | None = None,
    stop: Sequence[str] = (),
    models: Sequence[str] = (),
    cost: float | None = None,
    speed: float | None = None,
    intelligence: float | None = None,
    tools: Sequence[Callable[..., Any] | SampleTool] = (),
    tool_choice: ToolChoice | None = None,
    purpose: str | None = None,
    key: str | None = None,
) -> SampleAnswer:
    """Asks the client's model to go on from these messages. `models` are names or parts of names, best first; `cost`, `speed` and
    `intelligence` say from 0.0 to 1.0 how much each counts. `tools` are functions that the model may ask for: see `run_tools` of the
    answer."""
    options = {name: value for name, value in locals().items() if name not in ("messages", "key")}
    return questions.sample(messages, key=key, **options).ask()


def roots(*, key: str | None = None) -> list[Root]:
    """The folders or repositories that the client's user works in."""
    return questions.roots(key=key).ask()


def supported() -> Abilities:
    """The kinds of questions that the client of this call can answer. Any other raises Unsupported."""
    return host().supported()
