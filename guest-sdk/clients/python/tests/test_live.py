"""Lane `live`, in both revisions of the protocol, and steering."""

from typing import Any, Literal

import anyio
import pytest
from mcp import Client, MCPError

from portcullis_client import ClientTools, steer

from fake import FakeServer, Params, RpcError, call, complete, said, until

pytestmark = pytest.mark.anyio

Mode = Literal["auto", "legacy"]


class LiveServer(FakeServer):
    """One that has the live lane: a tool call lists calls, waits for their outcomes and tells how many it has."""

    def __init__(self, *calls: dict[str, Any]) -> None:
        super().__init__(
            reverse_listen=LiveServer._listen, reverse_respond=LiveServer._respond, tools_call=LiveServer._call_tool
        )
        self.calls = calls
        self.outcomes: dict[str, Params] = {}
        self.breaks = anyio.Event()
        self.channel = ""

    async def _listen(self: Any, params: Params) -> dict[str, Any]:
        self.channel = params["channel"]
        await self.notify("reverse_listening", channel=self.channel)
        await self.breaks.wait()
        self.breaks, self.channel = anyio.Event(), ""
        return complete()

    async def _respond(self: Any, params: Params) -> dict[str, Any]:
        if params["callId"] in self.outcomes:
            raise RpcError(-32602)
        self.outcomes[params["callId"]] = params
        return complete()

    async def _call_tool(self: Any, params: Params) -> dict[str, Any]:
        for number, wanted in enumerate(self.calls):
            await self.notify("reverse_call", channel=self.channel, callId=f"c{number}", **wanted)
        await until(lambda: len(self.outcomes) == len(self.calls))
        return said(f"{len(self.outcomes)} outcomes")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_calls_and_answers(mode: Mode) -> None:
    tools = ClientTools(lanes=["live"])
    tools.add("double", lambda arguments: arguments["n"] * 2, {"type": "object"})
    server = LiveServer(call("double", n=4), call("nothing"))
    async with Client(server, mode=mode, extensions=[tools]) as client, tools.attached(client):
        result = await client.call_tool("plan_day")
    assert result.content[0].model_dump()["text"] == "2 outcomes"
    assert server.outcomes["c0"]["result"]["structuredContent"] == {"result": 8}
    assert server.outcomes["c1"]["error"]["code"] == "unknown-tool"
    assert "result" not in server.outcomes["c1"]
    [listened] = server.requests("dev.portcullis/reverse/listen")
    assert server.declared["channel"] == listened["channel"] == server.outcomes["c0"]["channel"]
    assert server.declared["lanes"] == ["live"]
    assert len(listened["channel"]) >= 22


async def test_it_listens_again_when_the_request_ends() -> None:
    tools = ClientTools(lanes=["live", "retry"])
    tools.add("one", lambda _: "1", {"type": "object"})
    server = LiveServer(call("one"))
    async with Client(server, extensions=[tools]) as client, tools.attached(client):
        server.breaks.set()
        await until(lambda: len(server.requests("dev.portcullis/reverse/listen")) == 2)
        await until(lambda: server.channel != "")
        await client.call_tool("plan_day")
    first, second = server.requests("dev.portcullis/reverse/listen")
    assert first["channel"] == second["channel"]
    assert len(server.outcomes) == 1


async def test_a_call_given_up_is_stopped_and_not_answered() -> None:
    tools, stopped, started = ClientTools(lanes=["live"]), anyio.Event(), anyio.Event()

    @tools.tool
    async def slow() -> None:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            stopped.set()

    server = LiveServer()
    async with Client(server, extensions=[tools]) as client, tools.attached(client):
        await server.notify("reverse_call", channel=server.channel, callId="x", **call("slow"))
        with anyio.fail_after(5):
            await started.wait()
            await server.notify("reverse_cancelled", channel=server.channel, callId="x", reason="timeout")
            await stopped.wait()
        await client.list_tools()
    assert server.outcomes == {}


async def test_a_strange_channel_and_a_call_said_twice() -> None:
    runs: list[None] = []
    tools, gate = ClientTools(lanes=["live"]), anyio.Event()

    async def run(_: dict[str, Any]) -> None:
        runs.append(None)
        await gate.wait()

    tools.add("run", run, {"type": "object"})
    server = LiveServer()
    async with Client(server, extensions=[tools]) as client, tools.attached(client):
        await server.notify("reverse_call", channel="another-channel-altogether", callId="a", **call("run"))
        for _ in range(2):
            await server.notify("reverse_call", channel=server.channel, callId="b", **call("run"))
        await until(lambda: len(runs) == 1)
        gate.set()
        await until(lambda: len(server.outcomes) == 1)
        await client.list_tools()
    assert set(server.outcomes) == {"b"}
    assert len(runs) == 1


async def test_a_server_without_the_lane(caplog: pytest.LogCaptureFixture) -> None:
    tools, server = ClientTools(lanes=["live"]), FakeServer()
    async with Client(server, extensions=[tools]) as client, tools.attached(client):
        await client.list_tools()
    assert "has no live lane" in caplog.text
    assert len(server.requests("dev.portcullis/reverse/listen")) == 1


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_steer(mode: Mode) -> None:
    async def steered(server: FakeServer, params: Params) -> dict[str, Any]:
        if params["message"] == "":
            raise RpcError(-32602, "several are running", {"running": [{"call": "8f1c"}]})
        return complete(call="8f1c")

    server = FakeServer(steer=steered)
    async with Client(server, mode=mode) as client:
        assert await steer(client, "make it a comedy", correlation_id="book") == "8f1c"
        assert await steer(client.session, "shorter", call="8f1c") == "8f1c"
        with pytest.raises(MCPError) as refused:
            await steer(client, "")
        assert refused.value.error.data == {"running": [{"call": "8f1c"}]}
    asked = [
        {key: params[key] for key in params if key != "_meta"} for params in server.requests("dev.portcullis/steer")
    ]
    assert asked[:2] == [
        {"message": "make it a comedy", "correlationId": "book"},
        {"message": "shorter", "call": "8f1c"},
    ]
