"""The extension `dev.portcullis/client-tools` for the `mcp` SDK: this client's tools, called by a server's."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, Self, TypeAlias, TypeVar, cast, overload

import anyio
import mcp_types as types
from mcp import Client, MCPError
from mcp.client import ClaimContext, ClientExtension, ClientRequestContext, NotificationBinding, ResultClaim
from pydantic import Field

from portcullis_client.calls import Approve, Limits, Runner
from portcullis_client.live import LiveLane
from portcullis_client.tools import MAX_TOOLS, Tool, checked_name, from_schema, from_signature, output_schema

IDENTIFIER = "dev.portcullis/client-tools"
CHAIN_KEY = "dev.portcullis/chain"

Lane: TypeAlias = Literal["live", "retry"]

_F = TypeVar("_F", bound=Callable[..., Any])
_STATE_ONLY_SECONDS = 0.25


class TooManyRoundsError(RuntimeError):
    """The server went on wanting calls; what it had running is forgotten there after a while."""


class ToolCallsRequired(types.Result):
    """The result that asks for calls before the request is made again."""

    result_type: Literal["dev.portcullis/client-tools"] = Field(alias="resultType")
    tool_calls: dict[str, Any] = Field(alias="toolCalls")
    continuation: str


@dataclass(frozen=True)
class _Request:
    """A tools/call under way. The SDK does not tell a claim's resolver what was asked, so we remember."""

    owner: "ClientTools"
    arguments: dict[str, Any] | None
    meta: dict[str, Any]
    progress: Any


_request: ContextVar[_Request | None] = ContextVar("portcullis_request", default=None)


class ClientTools(ClientExtension):
    """Functions of this client that the tools of one server may call while they run.

    Register functions, pass the instance to `Client(extensions=[...])`, and attach it for as long as the client is
    open::

        tools = ClientTools(approve=ask_the_user)


        @tools.tool(read_only=True, private=True)
        async def free_slots(day: str) -> list[str]:
            "Free time on one day."
            ...


        async with Client(url, extensions=[tools]) as client, tools.attached(client):
            await client.call_tool("plan_day", {"day": "2026-12-01"})

    What is declared is fixed when the `Client` is made. One instance serves one client.
    """

    identifier = IDENTIFIER

    def __init__(
        self,
        *,
        allow: Iterable[str] | None = None,
        approve: Approve | None = None,
        limits: Limits | None = None,
        lanes: Sequence[Lane] = ("retry",),
        max_rounds: int = 16,
    ) -> None:
        """Makes an extension without tools.

        Args:
            allow: Which of the tools are declared at all, by name or pattern (`calendar.*`); all without it.
            approve: Asked before each call. Without it every call of a declared tool is run.
            limits: What one request may lead to.
            lanes: How calls may come. `retry` needs no open stream, but a server of 2026-07-28: the SDK does not
                declare it to an older one. `live` keeps a request open and works with both; with `retry` beside it, the
                SDK declares neither to an older server.
            max_rounds: How often one request is made again, at most.
        """
        if not lanes or not set(lanes) <= {"live", "retry"}:
            raise ValueError(f"lanes must be some of 'live' and 'retry', not {lanes!r}")
        self._allow = None if allow is None else tuple(allow)
        self._limits = limits or Limits()
        self._lanes = tuple(dict.fromkeys(lanes))
        self._max_rounds = max_rounds
        self._tools: dict[str, Tool] = {}
        self._declared = False
        self._attached: Client | None = None
        self._runner = Runner(self._tools, approve, self._limits)
        self._live = LiveLane(self._runner) if "live" in lanes else None

    @overload
    def tool(self, function: _F, /) -> _F: ...
    @overload
    def tool(
        self,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        read_only: bool | None = None,
        destructive: bool | None = None,
        private: bool = False,
        max_calls: int | None = None,
    ) -> Callable[[_F], _F]: ...
    def tool(
        self,
        function: _F | None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        read_only: bool | None = None,
        destructive: bool | None = None,
        private: bool = False,
        max_calls: int | None = None,
    ) -> _F | Callable[[_F], _F]:
        """Registers a function, sync (run on a thread) or async.

        Type hints become the schema, the docstring the description.

        Args:
            function: When used without parentheses.
            name: The function's name without it.
            description: The docstring without it.
            read_only: It changes nothing (a hint for whoever approves).
            destructive: It may destroy something.
            private: What it answers is for the calling server only.
            max_calls: At most so many calls on one request.
        """

        def register(function: _F) -> _F:
            schema, parse = from_signature(function)
            self._add(
                Tool(
                    name=checked_name(name or function.__name__),
                    description=description or _first_words(function.__doc__),
                    input_schema=schema,
                    output_schema=output_schema(function),
                    annotations=_annotations(read_only, destructive),
                    private=private,
                    max_calls=max_calls,
                    function=function,
                    parse=parse,
                )
            )
            return function

        return register if function is None else register(function)

    def add(
        self,
        name: str,
        function: Callable[[dict[str, Any]], Any],
        input_schema: Mapping[str, Any],
        *,
        description: str | None = None,
        read_only: bool | None = None,
        destructive: bool | None = None,
        private: bool = False,
        max_calls: int | None = None,
    ) -> None:
        """Registers a tool that an agent has already: a JSON schema, and a function of the whole arguments."""
        schema = dict(input_schema)

        async def call(arguments: dict[str, Any]) -> Any:
            returned = function(arguments)
            return await returned if isinstance(returned, Awaitable) else returned

        self._add(
            Tool(
                name=checked_name(name),
                description=description,
                input_schema=schema,
                output_schema=None,
                annotations=_annotations(read_only, destructive),
                private=private,
                max_calls=max_calls,
                function=call,
                parse=from_schema(schema),
            )
        )

    def _add(self, tool: Tool) -> None:
        if self._declared:
            raise RuntimeError(f"{tool.name!r} comes too late: the client has declared its tools already")
        if self._allow is not None and not any(fnmatchcase(tool.name, pattern) for pattern in self._allow):
            return
        if tool.name in self._tools:
            raise ValueError(f"there is a tool {tool.name!r} already")
        if len(self._tools) == MAX_TOOLS:
            raise ValueError(f"a client may declare at most {MAX_TOOLS} tools")
        self._tools[tool.name] = tool

    @property
    def tools(self) -> Mapping[str, Tool]:
        """What is declared, by name."""
        return dict(self._tools)

    def settings(self) -> dict[str, Any]:
        """What the client declares; from now on no tool can be added."""
        self._declared = True
        settings: dict[str, Any] = {
            "allowServerCalls": True,
            "tools": [tool.declaration() for tool in self._tools.values()],
            "lanes": list(self._lanes),
            "limits": self._limits.declaration(),
        }
        if self._live is not None:
            settings["channel"] = self._live.channel
        return settings

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """The result of lane `retry`."""
        if "retry" not in self._lanes:
            return ()
        return [ResultClaim(result_type=IDENTIFIER, model=ToolCallsRequired, resolve=self._resolve)]

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        """The notifications of lane `live`."""
        return () if self._live is None else self._live.notifications()

    @contextlib.asynccontextmanager
    async def attached(self, client: Client) -> AsyncIterator[Self]:
        """Serves calls for as long as it is entered, which is best as long as the client is.

        It opens lane `live`, if that is wanted, and has `client.call_tool` remember its arguments, which lane `retry`
        sends again and the SDK keeps to itself. A call that one of our functions makes through `client.call_tool` is
        counted by the server as part of the chain it belongs to.
        """
        if self._attached is not None:
            raise RuntimeError("these tools are attached to a client already; each client needs its own ClientTools")
        if self not in (client.extensions or ()):
            raise ValueError("pass these tools to Client(extensions=[...]) first: they are declared there")
        self._attached = client
        # An attribute of this one client, before the method of its class.
        vars(client)["call_tool"] = self._remembering(client.call_tool)
        try:
            async with contextlib.AsyncExitStack() as stack:
                if self._live is not None:
                    await stack.enter_async_context(self._live.open(client.session))
                yield self
        finally:
            del vars(client)["call_tool"]
            self._attached = None

    def _remembering(
        self, call_tool: Callable[..., Awaitable[types.CallToolResult]]
    ) -> Callable[..., Awaitable[types.CallToolResult]]:
        async def remembering(
            name: str,
            arguments: dict[str, Any] | None = None,
            read_timeout_seconds: float | None = None,
            progress_callback: Any = None,
            *,
            meta: Mapping[str, Any] | None = None,
            **others: Any,
        ) -> types.CallToolResult:
            said = dict(meta or {})
            if (chain := self._runner.chain()) is not None:
                said.setdefault(CHAIN_KEY, chain)
            token = _request.set(_Request(self, arguments, said, progress_callback))
            try:
                with self._runner.lending():
                    return await call_tool(
                        name, arguments, read_timeout_seconds, progress_callback, meta=said or None, **others
                    )
            finally:
                _request.reset(token)

        return remembering

    async def _resolve(self, required: ToolCallsRequired, ctx: ClaimContext) -> types.CallToolResult:
        """Runs what is wanted and makes the request again, until it has its result."""
        request = _request.get()
        if request is None or request.owner is not self:
            raise RuntimeError(
                "the server wants tools of this client called, but they are not attached: "
                "enter `tools.attached(client)` and call the tool with `client.call_tool`"
            )
        now: types.Result = required
        for _ in range(self._max_rounds):
            meta, inputs, state = request.meta, None, None
            if isinstance(now, ToolCallsRequired):
                results = await self._results(now.tool_calls)
                # A continuation is good for this one retry, so it is not kept for the next.
                meta = {**meta, IDENTIFIER: {"continuation": now.continuation, "results": results}}
            elif isinstance(now, types.InputRequiredResult):
                inputs, state = await _inputs(now, ctx), now.request_state
            now = await ctx.session.call_tool(
                ctx.tool_name,
                request.arguments,
                ctx.read_timeout_seconds,
                request.progress,
                input_responses=inputs,
                request_state=state,
                meta=cast("types.RequestParamsMeta", meta),
                allow_input_required=True,
                allow_claimed=True,
            )
            if isinstance(now, types.CallToolResult):
                return now
        raise TooManyRoundsError(f"{ctx.tool_name} still wants something after {self._max_rounds} rounds")

    async def _results(self, calls: Mapping[str, Any]) -> dict[str, Any]:
        results: dict[str, Any] = {}

        async def run(key: str, call: Any) -> None:
            results[key] = await self._runner.outcome(call)

        async with anyio.create_task_group() as group:
            for key, call in calls.items():
                group.start_soon(run, key, call)
        return results


async def _inputs(required: types.InputRequiredResult, ctx: ClaimContext) -> types.InputResponses | None:
    """Answers the server's questions as the SDK does, through the client's callbacks."""
    if not required.input_requests:
        await anyio.sleep(_STATE_ONLY_SECONDS)
        return None
    responses: types.InputResponses = {}
    for key, request in required.input_requests.items():
        asked = ClientRequestContext(session=ctx.session, request_id=key)
        response = await ctx.session.dispatch_input_request(asked, request)
        if isinstance(response, types.ErrorData):
            raise MCPError.from_error_data(response)
        responses[key] = response
    return responses


def _annotations(read_only: bool | None, destructive: bool | None) -> dict[str, Any]:
    hints = {"readOnlyHint": read_only, "destructiveHint": destructive}
    return {name: hint for name, hint in hints.items() if hint is not None}


def _first_words(doc: str | None) -> str | None:
    """A docstring up to its first empty line, on one line."""
    return " ".join(doc.strip().split("\n\n")[0].split()) if doc else None
