"""Questions to the user and the model. Waiting costs no fuel, and it pauses the call's deadline.

The manifest requests them, `client = { form = true, sample = true }`, and the operator grants them. A client that cannot
answer ends the tool: nothing behind the question runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from . import encoding, schema
from .content import Pieces, Role, Text, piece
from .errors import ClientError, Declined, Dismissed, InvalidArguments
from .host import host

T = TypeVar("T")


@dataclass
class Message:
    """A message of a prompt or to the model."""

    role: Role
    content: list[Any] = field(default_factory=list)

    @classmethod
    def user(cls, *content: Pieces) -> Message:
        return cls("user", [piece(one) for one in content])

    @classmethod
    def assistant(cls, *content: Pieces) -> Message:
        return cls("assistant", [piece(one) for one in content])


@dataclass
class SampleRequest:
    messages: list[Message]
    system_prompt: str | None = None
    max_tokens: int = 1_000
    temperature: float | None = None
    stop: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    purpose: str | None = None


@dataclass
class SampleAnswer:
    """What the model said."""

    content: list[Any]
    model: str
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        return "\n".join(one.text for one in self.content if isinstance(one, Text))


def ask(message: str, form: type[T], *, key: str | None = None) -> T:
    """Asks the user to fill in a form, which is a dataclass, and returns one. Raises Declined or Dismissed if the user does not.

    Fields are str, int, float, bool, Literal or an Enum, a list of these, or one of these or None, which may be left empty. A
    default is what the form begins with. `key` names the question to the client.
    """
    text = host().form(key, message, encoding.dumps(schema.of_form(form)))
    try:
        return encoding.read(form, encoding.loads(text), "the answer")
    except InvalidArguments as error:
        raise ClientError("unexpected-answer", f"the client's answer is not what was expected: {error}") from error


_CONFIRM = {
    "type": "object",
    "properties": {"confirmed": {"type": "boolean", "title": "Yes, confirmed"}},
    "required": ["confirmed"],
}


def confirm(message: str, *, or_stop: bool = False, key: str | None = None) -> bool:
    """Asks the user for a yes. Anything else is a no, which ends the tool if `or_stop`."""
    try:
        is_yes = encoding.loads(host().form(key, message, encoding.dumps(_CONFIRM))).get("confirmed") is True
    except (Declined, Dismissed):
        is_yes = False
    if or_stop and not is_yes:
        raise Declined("the user did not confirm")
    return is_yes


def sample(
    message: str | Message | list[Message],
    *,
    system_prompt: str | None = None,
    max_tokens: int = 1_000,
    temperature: float | None = None,
    stop: list[str] | None = None,
    models: list[str] | None = None,
    purpose: str | None = None,
    key: str | None = None,
) -> SampleAnswer:
    """Asks the client's model to go on from these messages. `models` are names or parts of names, best first."""
    messages = message if isinstance(message, list) else [message if isinstance(message, Message) else Message.user(message)]
    request = SampleRequest(messages, system_prompt, max_tokens, temperature, stop or [], models or [], purpose)
    return host().sample(key, request)
