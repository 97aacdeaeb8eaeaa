"""Lane `live`: calls come as notifications on a request that the client keeps open, answers go as requests."""

import contextlib
import logging
import math
import secrets
from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal

import anyio
import anyio.abc
import mcp_types as types
from mcp import ClientSession, MCPError
from mcp.client import NotificationBinding
from pydantic import BaseModel, ConfigDict, Field

from portcullis_client.calls import Runner

logger = logging.getLogger("portcullis_client")

_NOTIFICATION = "notifications/dev.portcullis/reverse_"

_OPEN_SECONDS = 10.0
"""How long to wait for the lane before going on without; it may still open later."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 10.0
_MAX_UNDER_WAY = 256
"""Bounds the tasks that a server can make us start at once; the runner's limits bound what runs."""


class _ListenParams(types.RequestParams):
    channel: str


class _ListenRequest(types.Request[_ListenParams, Literal["dev.portcullis/reverse/listen"]]):
    method: Literal["dev.portcullis/reverse/listen"] = "dev.portcullis/reverse/listen"


class _RespondParams(types.RequestParams):
    channel: str
    call_id: str
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class _RespondRequest(types.Request[_RespondParams, Literal["dev.portcullis/reverse/respond"]]):
    method: Literal["dev.portcullis/reverse/respond"] = "dev.portcullis/reverse/respond"


class _Event(BaseModel):
    model_config = ConfigDict(extra="allow")

    channel: str


class _CallEvent(_Event):
    call_id: str = Field(alias="callId")


class LiveLane:
    """The open request of one client, and the calls that came on it."""

    def __init__(self, runner: Runner) -> None:
        self.channel = secrets.token_urlsafe(24)
        self._runner = runner
        self._session: ClientSession | None = None
        self._tasks: anyio.abc.TaskGroup | None = None
        self._under_way: dict[str, anyio.CancelScope] = {}
        self._settled = anyio.Event()

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        """What the SDK hands to us."""
        return [
            NotificationBinding(method=_NOTIFICATION + "listening", params_type=_Event, handler=self._listening),
            NotificationBinding(method=_NOTIFICATION + "call", params_type=_CallEvent, handler=self._called),
            NotificationBinding(method=_NOTIFICATION + "cancelled", params_type=_CallEvent, handler=self._cancelled),
        ]

    @contextlib.asynccontextmanager
    async def open(self, session: ClientSession) -> AsyncIterator[None]:
        """Keeps the request open meanwhile; calls that still run at the end are cancelled."""
        self._settled = anyio.Event()
        async with anyio.create_task_group() as tasks:
            self._session, self._tasks = session, tasks
            tasks.start_soon(self._listen, session)
            with anyio.move_on_after(_OPEN_SECONDS) as late:
                await self._settled.wait()
            if late.cancelled_caught:
                logger.warning("the server has not opened the live lane after %s s", _OPEN_SECONDS)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
                self._session = self._tasks = None
                self._under_way.clear()

    async def _listen(self, session: ClientSession) -> None:
        """Opens the request, and again whenever it ends: a stream breaks, a server restarts."""
        pause = _FIRST_PAUSE
        while True:
            opened = anyio.current_time()
            try:
                request = _ListenRequest(params=_ListenParams(channel=self.channel))
                await session.send_request(request, types.EmptyResult, request_read_timeout_seconds=math.inf)
                reason = "the server ended it"
            except MCPError as error:
                if error.code == types.METHOD_NOT_FOUND:
                    logger.warning("the server has no live lane: %s", error)
                    self._settled.set()
                    return
                # Also -32602 while the server still holds the channel of a stream that broke.
                reason = str(error)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                reason = "the connection is closed"
            if anyio.current_time() - opened > _LONGEST_PAUSE:
                pause = _FIRST_PAUSE
            logger.debug("the live lane is closed (%s); opening it again in %s s", reason, pause)
            await anyio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _listening(self, event: _Event) -> None:
        if event.channel == self.channel:
            self._settled.set()

    async def _called(self, event: _CallEvent) -> None:
        if event.channel != self.channel or self._tasks is None or event.call_id in self._under_way:
            return
        if len(self._under_way) >= _MAX_UNDER_WAY:
            logger.warning("too many reverse calls at once; one is left unanswered")
            return
        scope = self._under_way[event.call_id] = anyio.CancelScope()
        self._tasks.start_soon(self._answer, event, scope)

    async def _cancelled(self, event: _CallEvent) -> None:
        if event.channel == self.channel and (scope := self._under_way.get(event.call_id)) is not None:
            scope.cancel()

    async def _answer(self, event: _CallEvent, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                outcome = await self._runner.outcome(event.model_dump(by_alias=True))
                await self._respond(event.call_id, outcome)
        finally:
            self._under_way.pop(event.call_id, None)

    async def _respond(self, call_id: str, outcome: dict[str, Any]) -> None:
        said = {"error": outcome["error"]} if "error" in outcome else {"result": outcome}
        params = _RespondParams(channel=self.channel, call_id=call_id, **said)
        if self._session is None:
            return
        try:
            await self._session.send_request(_RespondRequest(params=params), types.EmptyResult)
        except MCPError as error:
            # It gave up meanwhile, or the connection is gone: nobody waits for this answer any more.
            logger.debug("the server did not take the answer to a reverse call: %s", error)
