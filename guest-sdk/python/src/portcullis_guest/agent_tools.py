"""Tools on the agent's side. The manifest requests them, `agent-tools = ["notes.add"]`, and the operator grants them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from . import encoding, reading
from .content import Content, ToolResult
from .errors import AgentError, InvalidArguments
from .host import host


@dataclass
class AgentResult:
    """The answer of a tool that reported no failure. Untrusted, like everything from outside.

    `origin` is who answered: `client`, `model`, `user`, or `component` or `upstream` with a colon and its name. A private answer
    must not be passed on: calls that would reach another recipient are denied from now on.
    """

    content: list[Content] = field(default_factory=list)
    structured: str | None = None
    origin: str = "client"
    private: bool = False
    edited: str | None = None

    @property
    def text(self) -> str:
        return ToolResult(self.content).text

    def value(self, kind: Any = Any) -> Any:
        """The structured content, or else the text, as JSON where it is JSON."""
        try:
            if self.structured is not None:
                return reading.read(kind, encoding.loads(self.structured), "the result")
            if kind is str:
                return self.text
            try:
                return reading.read(kind, encoding.loads(self.text), "the result")
            except ValueError:
                return reading.read(kind, self.text, "the result")
        except (ValueError, InvalidArguments) as error:
            raise AgentError("unexpected-result", f"the agent tool's answer is not what was expected: {error}") from error


@dataclass(frozen=True)
class Call:
    """One of several calls that are made at once, with what `call` takes."""

    name: str
    arguments: Any = None
    kind: Any = Any
    timeout: float | None = None
    purpose: str | None = None
    chunks: bool = False

    def written(self) -> tuple[Any, ...]:
        try:
            text = encoding.dumps({} if self.arguments is None else self.arguments)
        except (TypeError, ValueError) as error:
            raise AgentError("invalid-arguments", f"invalid arguments: {error}") from error
        return self.name, text, self.timeout, self.purpose, self.chunks


def call(
    name: str,
    arguments: Any = None,
    kind: Any = Any,
    *,
    timeout: float | None = None,
    purpose: str | None = None,
    chunks: bool = False,
) -> Any:
    """Calls a tool and waits for its result: the structured content, or else the text. With a type such as a dataclass, read as
    that. `chunks` forwards what the tool emits. `timeout` is in seconds."""
    return call_raw(name, arguments, timeout=timeout, purpose=purpose, chunks=chunks).value(kind)


def call_raw(
    name: str, arguments: Any = None, *, timeout: float | None = None, purpose: str | None = None, chunks: bool = False
) -> AgentResult:
    """As `call`, with the whole result."""
    return host().call_agent_tool(*Call(name, arguments, timeout=timeout, purpose=purpose, chunks=chunks).written())


def call_many(calls: Iterable[Call], *, return_exceptions: bool = False) -> list[Any]:
    """Makes several calls at once, as many at a time as the operator allows, and waits for all. The values come in the order of the
    calls. A failed one does not stop the others; its error is raised in the end, or is in its place if `return_exceptions`, as in
    `asyncio.gather`."""
    these, written, unwritten = list(calls), [], {}
    for at, one in enumerate(these):
        try:
            written.append(one.written())
        except AgentError as error:
            unwritten[at] = error
    results = iter(host().call_agent_tools(written) if written else [])
    values: list[Any] = []
    for at, one in enumerate(these):
        found = unwritten[at] if at in unwritten else next(results)
        try:
            values.append(found if isinstance(found, Exception) else found.value(one.kind))
        except AgentError as error:
            values.append(error)
    if not return_exceptions:
        for value in values:
            if isinstance(value, Exception):
                raise value
    return values


def names() -> list[str]:
    """The tools that `call` can reach now: those that are granted and there."""
    return host().list_agent_tools()
