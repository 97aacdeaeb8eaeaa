"""Questions that have not been asked yet, for `ask_many`. Each has the name and the arguments of the function that asks it alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from . import encoding, reading, sampling, schema
from .content import Message, Pieces
from .errors import ClientError, Declined, Dismissed, InvalidArguments
from .host import FormQuestion, Root, RootsQuestion, UrlQuestion, host

T = TypeVar("T")


@dataclass(frozen=True)
class Question(Generic[T]):
    """What is put to the client, and how its answer is read."""

    put: Any
    read: Callable[[Any], T]
    key: str | None

    def ask(self) -> T:
        return self.read(host().ask(self.key, self.put))


def ask(message: str, form: type[T], *, key: str | None = None) -> Question[T]:
    def read(answer: Any) -> T:
        try:
            return reading.read(form, encoding.loads(_accepted(answer)), "the answer")
        except InvalidArguments as error:
            raise ClientError("unexpected-answer", f"the client's answer is not what was expected: {error}") from error

    return Question(FormQuestion(message, encoding.dumps(schema.of_form(form))), read, key)


# Clients show a form without fields as two buttons: to accept it is to say yes.
_CONFIRM = {"type": "object", "properties": {}}


def confirm(message: str, *, or_stop: bool = False, key: str | None = None) -> Question[bool]:
    def read(answer: Any) -> bool:
        is_yes = not isinstance(answer, Exception)
        if or_stop and not is_yes:
            raise Declined("the user did not confirm")
        return is_yes

    return Question(FormQuestion(message, encoding.dumps(_CONFIRM)), read, key)


def open_url(message: str, address: str, *, key: str | None = None) -> Question[None]:
    return Question(UrlQuestion(message, address=address), _accepted, key)


def connect(message: str, connection: str, *, key: str | None = None) -> Question[None]:
    return Question(UrlQuestion(message, connection=connection), _accepted, key)


def sample(messages: Pieces | Message | list[Message], *, key: str | None = None, **options: Any) -> Question[sampling.SampleAnswer]:
    return Question(sampling.request(messages, **options), lambda answer: answer, key)


def roots(*, key: str | None = None) -> Question[list[Root]]:
    return Question(RootsQuestion(), lambda answer: answer, key)


def _accepted(answer: Any) -> Any:
    if isinstance(answer, (Declined, Dismissed)):
        raise answer
    return answer


def ask_many(*questions: Question[Any], return_exceptions: bool = False) -> list[Any]:
    """Asks several questions at once, and returns the answers in their order. Raises Declined or Dismissed when a form or a page was
    not accepted; with `return_exceptions`, these are in the place of the answer, as in `asyncio.gather`."""
    if not questions:
        return []
    chosen = {one.key for one in questions}
    keyed = [(one.key or _numbered(at, chosen), one.put) for at, one in enumerate(questions, 1)]
    raw = host().ask_many(keyed)
    answers: list[Any] = []
    for one, answer in zip(questions, raw, strict=True):
        try:
            answers.append(one.read(answer))
        except (Declined, Dismissed) as no:
            if not return_exceptions:
                raise
            answers.append(no)
    return answers


def _numbered(at: int, chosen: set[str | None]) -> str:
    key = f"q{at}"
    while key in chosen:
        key += "_"
    return key
