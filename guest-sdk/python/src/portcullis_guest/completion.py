"""Suggestions while a user fills in an argument of a prompt, or a variable of a resource template."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .context import Context

# The most values that a client gets.
MOST = 100


@dataclass(frozen=True)
class Typed:
    """What was typed so far, and the other arguments that are filled in."""

    value: str
    others: dict[str, str] = field(default_factory=dict)
    context: Context | None = None

    def matching(self, candidates: Iterable[str]) -> list[str]:
        """Those that begin as what was typed, whatever the case."""
        start = self.value.lower()
        return [one for one in candidates if one.lower().startswith(start)]


@dataclass(frozen=True)
class Completion:
    """Suggestions with the number of all that match, if it is known."""

    values: list[str]
    total: int | None = None
    has_more: bool = False


class Complete:
    """Says in `Annotated` what is suggested: `Complete("Oslo", "Bergen")`, or a function of what was `Typed`."""

    def __init__(self, *source: str | Callable[[Typed], Iterable[str] | Completion]) -> None:
        if len(source) != 1 and not all(isinstance(one, str) for one in source):
            raise TypeError("Complete takes words, or one function")
        self.source = source

    def __call__(self, typed: Typed) -> Completion:
        first = self.source[0] if self.source else ""
        found = first(typed) if callable(first) else typed.matching(self.source)  # type: ignore[arg-type]
        if isinstance(found, Completion):
            return found
        values = list(found)
        return Completion(values[:MOST], len(values), len(values) > MOST)
