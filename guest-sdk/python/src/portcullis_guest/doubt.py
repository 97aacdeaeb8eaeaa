"""Finding out what has become of a request.

When the host has ended after a tool began a request and before its answer was stored, nobody knows whether it has happened. One
like GET is sent again; of others, the function that is marked `@reconcile` is asked. Without one, or if it does not know, the call
ends and says so. The function has at most ten seconds and what the plugin was granted, but can neither call tools nor ask the client.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from . import encoding, reading
from .agent_tools import Call
from .content import ToolResult
from .context import Context
from .host import Request
from .http import Response
from .plugin import PLUGIN


class NotDone(enum.Enum):
    """It has not happened: it is done now."""

    NOT_DONE = "not done"


NOT_DONE = NotDone.NOT_DONE

# What it came to, that it was not done, or None: unknown.
Verdict: TypeAlias = "Response | ToolResult | NotDone | None"


@dataclass(frozen=True)
class Doubt:
    """An effect in doubt. It is a request to another server, whose secrets are names, a call of a tool, or None: anything else."""

    tool: str
    effect: Request | Call | None
    input: str = "{}"
    context: Context = field(default_factory=Context)
    # Its number among the steps of the call, and a name such as `http.handle`.
    step: str = "1"
    name: str = ""

    def arguments(self, kind: Any = Any) -> Any:
        """The arguments of the tool; with a type such as a dataclass, read as that."""
        return reading.read(kind, encoding.loads(self.input), "the arguments")


def reconcile(function: Callable[[Doubt], Verdict]) -> Callable[[Doubt], Verdict]:
    """Marks the function that finds out. It returns the answer that there was (a `Response` or a `ToolResult`), `NOT_DONE`, or None."""
    if PLUGIN.finder is not None:
        raise TypeError(f"{function.__name__}: there is a function marked @reconcile already")
    PLUGIN.finder = function
    return function
