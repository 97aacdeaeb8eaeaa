"""A server in memory that says exactly what a test wants, in JSON, behind the SDK's own transport interface."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

MODERN = "2026-07-28"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"

Params = dict[str, Any]
Answer = Callable[["FakeServer", Params], Awaitable[dict[str, Any]]]


class RpcError(Exception):
    def __init__(self, code: int, message: str = "no", data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data}


class FakeServer(Transport):
    """Answers with `answers[method]`, each request in a task of its own, and keeps what it was asked."""

    def __init__(self, **answers: Answer) -> None:
        # Keys as in `tools_call`: a method name is no identifier.
        self.answers = answers
        self.asked: list[tuple[str, Params]] = []
        self.capabilities: dict[str, Any] = {}
        self.revision = MODERN

    async def __aenter__(self) -> tuple[MemoryObjectReceiveStream[Any], MemoryObjectSendStream[Any]]:
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](1000)
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage](1000)
        self._out = to_client
        self._stack = AsyncExitStack()
        self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
        self._stack.enter_context(to_client)
        self._stack.enter_context(from_client)
        self._tasks.start_soon(self._serve, from_client)
        return from_server, to_server

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._tasks.cancel_scope.cancel()
        await self._stack.aclose()

    async def _serve(self, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async for message in messages:
            said = message.message.model_dump(by_alias=True, mode="json", exclude_none=True)
            if "id" in said and "method" in said:
                self._tasks.start_soon(self._answer, said)

    async def _answer(self, request: dict[str, Any]) -> None:
        method, params = request["method"], request.get("params", {})
        self.asked.append((method, params))
        try:
            result = await self._result(method, params)
        except RpcError as error:
            await self._say({"id": request["id"], "error": error.error})
        else:
            await self._say({"id": request["id"], "result": result})

    async def _result(self, method: str, params: Params) -> dict[str, Any]:
        match method:
            case "initialize":
                self.revision, self.capabilities = params["protocolVersion"], params["capabilities"]
                info = {"name": "fake", "version": "0"}
                return {"protocolVersion": self.revision, "capabilities": {"tools": {}}, "serverInfo": info}
            case "server/discover":
                return complete(supportedVersions=[MODERN], capabilities={"tools": {}}, ttlMs=0, cacheScope="private")
            case "tools/list":
                return complete(tools=[], ttlMs=0, cacheScope="private")
        if self.revision == MODERN:
            self.capabilities = params["_meta"][CAPABILITIES]
        answer = self.answers.get(method.removeprefix("dev.portcullis/").replace("/", "_"))
        if answer is None:
            raise RpcError(-32601)
        return await answer(self, params)

    async def notify(self, method: str, **params: Any) -> None:
        await self._say({"method": f"notifications/dev.portcullis/{method}", "params": params})

    async def _say(self, message: dict[str, Any]) -> None:
        await self._out.send(SessionMessage(jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **message})))

    def requests(self, method: str) -> list[Params]:
        return [params for asked, params in self.asked if asked == method]

    @property
    def declared(self) -> dict[str, Any]:
        """The client-tools settings, as declared last."""
        declared: dict[str, Any] = self.capabilities["extensions"]["dev.portcullis/client-tools"]
        return declared


def complete(**fields: Any) -> dict[str, Any]:
    return {"resultType": "complete", **fields}


def said(text: str) -> dict[str, Any]:
    return complete(content=[{"type": "text", "text": text}])


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    """A call as a server describes it."""
    return {
        "name": name,
        "arguments": arguments,
        "plugin": "planner",
        "tool": "plan_day",
        "parent": "8f1c",
        "purpose": "find a free hour",
        "timeoutMs": 5000,
        "chain": "chain-1",
    }


def wanted(continuation: str = "sealed", /, **calls: Any) -> dict[str, Any]:
    """The result of lane `retry`."""
    return {"resultType": "dev.portcullis/client-tools", "toolCalls": calls, "continuation": continuation}


async def until(condition: Callable[[], bool]) -> None:
    """Waits for a condition; fails after five seconds."""
    with anyio.fail_after(5):
        while not condition():  # noqa: ASYNC110 - the condition is the code's under test
            await anyio.sleep(0.005)


__all__ = ["FakeServer", "Params", "RpcError", "call", "complete", "said", "until", "wanted"]
