"""One reverse call: what the server wants, who may say no, and the outcome that it gets."""

import contextlib
import dataclasses
import inspect
import json
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Any, Literal, TypeAlias

import anyio
import anyio.to_thread
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from portcullis_client.tools import InvalidArgumentsError, Tool, as_result

logger = logging.getLogger("portcullis_client")

Code: TypeAlias = Literal[
    "declined", "unknown-tool", "invalid-arguments", "timeout", "cancelled", "exhausted", "failed"
]

EDITED_KEY = "dev.portcullis/edited"

_MAX_REASON = 500
_MAX_PARENTS = 1024
"""Bounds what a server that invents a parent for every call can make us remember."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """What one request may lead to. The server is told, and held to it."""

    calls: int = 100
    """Reverse calls in all."""
    parallel: int = 4
    """At once."""
    argument_bytes: int = 64 * 1024
    """Of one call's arguments, as JSON."""

    def __post_init__(self) -> None:
        if min(self.calls, self.parallel, self.argument_bytes) < 1:
            raise ValueError("a limit is at least 1; to allow nothing, declare no tools")

    def declaration(self) -> dict[str, int]:
        """The limits as the extension's settings have them."""
        return {"calls": self.calls, "parallel": self.parallel, "argumentBytes": self.argument_bytes}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Call:
    """A server's tool wants one of ours called."""

    name: str
    arguments: Mapping[str, Any]
    plugin: str
    """Who calls, as the server's operator named it."""
    tool: str
    """Its tool that runs."""
    parent: str
    """The id of the running call."""
    purpose: str | None
    """Why, in the plugin's own words: untrusted, to be shown as a stranger's."""
    timeout: float | None
    """Seconds until the server has given up."""
    chain: str | None
    """Names the chain of calls; for requests to the same server only, which an attached client sees to."""
    read_only: bool
    private: bool


@dataclasses.dataclass(frozen=True)
class Allow:
    """Run it."""


@dataclasses.dataclass(frozen=True)
class Edit:
    """Run it with these arguments instead; the plugin is told."""

    arguments: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Deny:
    """Do not run it. The plugin sees `declined` with the reason."""

    reason: str = "declined"


Decision: TypeAlias = Allow | Edit | Deny
Approve: TypeAlias = Callable[[Call], Awaitable[Decision] | Decision]
"""Asked before every call, with arguments that suit the tool."""


class ToolError(Exception):
    """Raised by a tool to report a failure in its own words: a result with `isError`."""


_current: "ContextVar[tuple[Runner, Call] | None]" = ContextVar("portcullis_call", default=None)


def current_call() -> Call | None:
    """The call that the running function serves; none outside of one."""
    current = _current.get()
    return None if current is None else current[1]


class WireCall(BaseModel):
    """A call as the server describes it, in any lane."""

    model_config = ConfigDict(extra="ignore")

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    plugin: str = ""
    tool: str = ""
    parent: str = ""
    purpose: str | None = None
    timeout_ms: int | None = Field(default=None, alias="timeoutMs", ge=0)
    chain: str | None = None


class _RefusedError(Exception):
    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.outcome = {"error": {"code": code, "message": message[:_MAX_REASON]}}


@dataclasses.dataclass
class _Used:
    calls: int = 0
    by_tool: dict[str, int] = dataclasses.field(default_factory=dict)


class Runner:
    """Runs calls of the tools it is given, within limits; every call ends in an outcome."""

    def __init__(self, tools: Mapping[str, Tool], approve: Approve | None, limits: Limits) -> None:
        self._tools = tools
        self._approve = approve
        self._limits = limits
        self._used: OrderedDict[str, _Used] = OrderedDict()
        self._slots: anyio.CapacityLimiter | None = None

    async def outcome(self, described: Any) -> dict[str, Any]:
        """Runs the call that `described` says, a JSON object of the server."""
        try:
            wire = WireCall.model_validate(described)
        except ValidationError:
            return _RefusedError("failed", "the call is malformed").outcome
        try:
            return await self._run(wire)
        except _RefusedError as refused:
            return refused.outcome

    async def _run(self, wire: WireCall) -> dict[str, Any]:
        tool = self._tools.get(wire.name)
        if tool is None:
            raise _RefusedError("unknown-tool", f"no tool {wire.name[:128]!r} was declared")
        self._count(wire.parent, tool)
        if len(json.dumps(wire.arguments, ensure_ascii=False).encode()) > self._limits.argument_bytes:
            raise _RefusedError("invalid-arguments", f"more than {self._limits.argument_bytes} bytes of arguments")
        timeout = None if wire.timeout_ms is None else wire.timeout_ms / 1000
        call = Call(
            name=wire.name,
            arguments=wire.arguments,
            plugin=wire.plugin,
            tool=wire.tool,
            parent=wire.parent,
            purpose=wire.purpose,
            timeout=timeout,
            chain=wire.chain,
            read_only=tool.read_only,
            private=tool.private,
        )
        if self._slots is None:
            self._slots = anyio.CapacityLimiter(self._limits.parallel)
        with anyio.move_on_after(timeout):
            async with self._slots:
                return await self._approved(tool, call)
        raise _RefusedError("timeout", f"no answer within {wire.timeout_ms} ms")

    def chain(self) -> str | None:
        """The chain that a request made now belongs to: of a call that this very runner runs."""
        current = _current.get()
        return current[1].chain if current is not None and current[0] is self else None

    @contextlib.contextmanager
    def lending(self) -> Iterator[None]:
        """Lends the place of the call that runs now while it waits for the server, which may want it for this chain."""
        if self._slots is None or self.chain() is None:
            yield
            return
        self._slots.total_tokens += 1
        try:
            yield
        finally:
            self._slots.total_tokens -= 1

    def _count(self, parent: str, tool: Tool) -> None:
        used = self._used.setdefault(parent, _Used())
        self._used.move_to_end(parent)
        if len(self._used) > _MAX_PARENTS:
            self._used.popitem(last=False)
        of_tool = used.by_tool.get(tool.name, 0)
        if used.calls >= self._limits.calls:
            raise _RefusedError("exhausted", f"more than {self._limits.calls} calls for one request")
        if tool.max_calls is not None and of_tool >= tool.max_calls:
            raise _RefusedError("exhausted", f"more than {tool.max_calls} calls of {tool.name} for one request")
        used.calls += 1
        used.by_tool[tool.name] = of_tool + 1

    async def _approved(self, tool: Tool, call: Call) -> dict[str, Any]:
        values = _parsed(tool, call.arguments)
        edited: dict[str, Any] | None = None
        match await self._decision(call):
            case Deny(reason):
                raise _RefusedError("declined", reason)
            case Edit(arguments) if dict(arguments) != dict(call.arguments):
                edited = dict(arguments)
                values = _parsed(tool, edited)
                call = dataclasses.replace(call, arguments=edited)
            case _:
                pass
        token = _current.set((self, call))
        try:
            result = await _called(tool, values)
        finally:
            _current.reset(token)
        outcome = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        # Inside another message an outcome is no result of a request of its own.
        outcome.pop("resultType", None)
        if edited is not None:
            outcome["_meta"] = {**outcome.get("_meta", {}), EDITED_KEY: edited}
        return outcome

    async def _decision(self, call: Call) -> Decision:
        if self._approve is None:
            return Allow()
        try:
            decision = self._approve(call)
            if inspect.isawaitable(decision):
                decision = await decision
        except Exception as error:
            logger.exception("approve raised for %r; the call is declined", call.name)
            raise _RefusedError("declined", "the call could not be approved") from error
        if not isinstance(decision, Allow | Edit | Deny):
            logger.error("approve returned %r for %r; the call is declined", decision, call.name)
            return Deny("the call was not approved")
        return decision


def _parsed(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return tool.parse(arguments)
    except InvalidArgumentsError as error:
        raise _RefusedError("invalid-arguments", str(error)) from error


async def _called(tool: Tool, values: dict[str, Any]) -> CallToolResult:
    try:
        if inspect.iscoroutinefunction(tool.function):
            returned = await tool.function(**values)
        else:
            # On a thread, which gets our context: a function that blocks must not stop the client.
            returned = await anyio.to_thread.run_sync(partial(tool.function, **values), abandon_on_cancel=True)
            if inspect.isawaitable(returned):
                returned = await returned
        return as_result(returned)
    except ToolError as error:
        return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)
    except Exception as error:
        # What went wrong is ours to know: it may name files, hosts and secrets.
        logger.exception("the tool %r failed", tool.name)
        raise _RefusedError("failed", "the tool failed") from error
