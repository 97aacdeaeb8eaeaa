"""Lane `retry`: every outcome, through the SDK's client and a server in memory."""

import logging
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client

from portcullis_client import (
    Allow,
    Call,
    ClientTools,
    Decision,
    Deny,
    Edit,
    Limits,
    ToolError,
    TooManyRoundsError,
    current_call,
)

from fake import FakeServer, Params, RpcError, call, said, wanted

pytestmark = pytest.mark.anyio

KEY = "dev.portcullis/client-tools"


def once(**calls: Any) -> FakeServer:
    """A server whose tool wants these calls once."""

    async def tools_call(server: FakeServer, params: Params) -> dict[str, Any]:
        again = params["_meta"].get(KEY)
        return wanted(**calls) if again is None else said("done")

    return FakeServer(tools_call=tools_call)


async def results(tools: ClientTools, **calls: dict[str, Any]) -> dict[str, Any]:
    """What the client answers to these calls."""
    server = once(**calls)
    async with Client(server, extensions=[tools]) as client, tools.attached(client):
        result = await client.call_tool("plan_day", {"day": "monday"})
    assert result.content == [types.TextContent(type="text", text="done")]
    answered: dict[str, Any] = server.requests("tools/call")[1]["_meta"][KEY]["results"]
    return answered


async def test_same_request_again_with_the_outcomes() -> None:
    tools, days = ClientTools(), list[str]()

    @tools.tool
    async def free(day: str) -> dict[str, int]:
        days.append(day)
        return {"hour": len(days)}

    server = once(a=call("free", day="mon"), b=call("free", day="tue"))
    async with Client(server, extensions=[tools]) as client, tools.attached(client):
        marked: Any = {"dev.portcullis/correlationId": "trip"}
        await client.call_tool("plan_day", {"n": 1}, meta=marked)

    first, second = server.requests("tools/call")
    assert second["name"] == first["name"] == "plan_day"
    assert second["arguments"] == first["arguments"] == {"n": 1}
    assert second["_meta"]["dev.portcullis/correlationId"] == "trip"
    again = second["_meta"][KEY]
    assert again["continuation"] == "sealed"
    assert set(again["results"]) == {"a", "b"}
    assert again["results"]["a"]["structuredContent"]["hour"] in (1, 2)
    assert "resultType" not in again["results"]["a"]
    assert sorted(days) == ["mon", "tue"]
    assert server.declared["lanes"] == ["retry"]
    assert "channel" not in server.declared


async def test_no_call_no_second_request() -> None:
    async def tools_call(server: FakeServer, params: Params) -> dict[str, Any]:
        return said("at once")

    tools, server = ClientTools(), FakeServer(tools_call=tools_call)
    async with Client(server, extensions=[tools]) as client, tools.attached(client):
        await client.call_tool("plan_day")
    assert len(server.requests("tools/call")) == 1
    assert KEY not in server.requests("tools/call")[0]["_meta"]


async def test_outcomes_that_are_errors(caplog: pytest.LogCaptureFixture) -> None:
    tools = ClientTools(limits=Limits(argument_bytes=100))

    @tools.tool
    def breaks() -> None:
        raise OSError("/etc/passwd is not readable")

    @tools.tool
    def says_no() -> None:
        raise ToolError("the calendar is closed")

    @tools.tool
    async def slow() -> None:
        await anyio.sleep_forever()

    @tools.tool
    def takes(text: str) -> None: ...

    with caplog.at_level(logging.CRITICAL):
        answered = await results(
            tools,
            unknown=call("nothing"),
            broken=call("breaks"),
            closed=call("says_no"),
            slow={**call("slow"), "timeoutMs": 20},
            wrong=call("takes", text=5),
            long=call("takes", text="x" * 100),
            malformed={"arguments": 7},
        )
    codes = {key: outcome.get("error", {}).get("code") for key, outcome in answered.items()}
    assert codes == {
        "unknown": "unknown-tool",
        "broken": "failed",
        "closed": None,
        "slow": "timeout",
        "wrong": "invalid-arguments",
        "long": "invalid-arguments",
        "malformed": "failed",
    }
    assert answered["broken"]["error"]["message"] == "the tool failed"
    assert answered["closed"]["isError"] is True
    assert answered["closed"]["content"][0]["text"] == "the calendar is closed"


async def test_approval() -> None:
    seen: list[Call] = []

    async def approve(wanted: Call) -> Decision:
        seen.append(wanted)
        match wanted.arguments["day"]:
            case "mon":
                return Allow()
            case "tue":
                return Edit({"day": "wed"})
            case "thu":
                return Deny("the user said no")
            case "fri":
                return Edit({"day": 5})
        raise RuntimeError("no idea")

    tools, days = ClientTools(approve=approve), list[str]()

    @tools.tool(read_only=True)
    def free(day: str) -> str:
        days.append(day)
        return day

    calls = {day: call("free", day=day) for day in ("mon", "tue", "thu", "fri", "sat")}
    answered = await results(tools, **calls)
    assert sorted(days) == ["mon", "wed"]
    assert "_meta" not in answered["mon"]
    assert answered["tue"]["_meta"] == {"dev.portcullis/edited": {"day": "wed"}}
    assert answered["thu"] == {"error": {"code": "declined", "message": "the user said no"}}
    assert answered["fri"]["error"]["code"] == "invalid-arguments"
    assert answered["sat"]["error"]["code"] == "declined"
    assert len(seen) == 5
    assert (seen[0].plugin, seen[0].tool, seen[0].purpose) == ("planner", "plan_day", "find a free hour")
    assert seen[0].read_only
    assert seen[0].timeout == 5.0


async def test_limits_on_calls_and_at_once() -> None:
    running, most = 0, 0
    tools = ClientTools(limits=Limits(calls=5, parallel=2))

    async def work(_: dict[str, Any]) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.sleep(0.01)
        running -= 1

    tools.add("work", work, {"type": "object"})
    tools.add("rare", work, {"type": "object"}, max_calls=1)
    answered = await results(
        tools, **{f"w{n}": call("work") for n in range(3)}, **{f"r{n}": call("rare") for n in range(2)}, z=call("work")
    )
    codes = {key: outcome.get("error", {}).get("code") for key, outcome in answered.items()}
    assert codes == {"w0": None, "w1": None, "w2": None, "r0": None, "r1": "exhausted", "z": None}
    assert most == 2
    assert (await results_of_more(tools))["error"]["code"] == "exhausted"


async def results_of_more(tools: ClientTools) -> dict[str, Any]:
    """One more call of the same parent."""
    return await tools._runner.outcome(call("work"))


async def test_rounds_are_bounded() -> None:
    async def tools_call(server: FakeServer, params: Params) -> dict[str, Any]:
        return wanted(f"round-{len(server.requests('tools/call'))}", a=call("free"))

    tools, server = ClientTools(max_rounds=3), FakeServer(tools_call=tools_call)
    tools.add("free", lambda _: None, {"type": "object"})
    async with Client(server, extensions=[tools]) as client, tools.attached(client):
        with pytest.raises(TooManyRoundsError, match="after 3 rounds"):
            await client.call_tool("plan_day")
    continuations = [asked["_meta"][KEY]["continuation"] for asked in server.requests("tools/call")[1:]]
    assert continuations == ["round-1", "round-2", "round-3"]


async def test_questions_between_rounds() -> None:
    async def tools_call(server: FakeServer, params: Params) -> dict[str, Any]:
        if "inputResponses" in params:
            assert KEY not in params["_meta"], "a used continuation came again"
            assert params["requestState"] == "state"
            return said(params["inputResponses"]["ok"]["action"])
        if KEY in params["_meta"]:
            form = {"type": "object", "properties": {}}
            asks = {"method": "elicitation/create", "params": {"message": "ok?", "requestedSchema": form}}
            return {"resultType": "input_required", "inputRequests": {"ok": asks}, "requestState": "state"}
        return wanted(a=call("free"))

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="decline")

    tools, server = ClientTools(), FakeServer(tools_call=tools_call)
    tools.add("free", lambda _: None, {"type": "object"})
    async with Client(server, extensions=[tools], elicitation_callback=elicit) as client, tools.attached(client):
        result = await client.call_tool("plan_day")
    assert result.content == [types.TextContent(type="text", text="decline")]


async def test_a_call_back_belongs_to_the_chain() -> None:
    async def other(server: FakeServer, params: Params) -> dict[str, Any]:
        return said("other")

    tools, stranger, server, elsewhere = (
        ClientTools(),
        ClientTools(),
        once(a=call("back")),
        FakeServer(tools_call=other),
    )
    clients: list[Client] = []

    @tools.tool
    async def back() -> str:
        served = current_call()
        assert served is not None
        for client in clients:
            await client.call_tool("small")
        return served.parent

    async with (
        Client(server, extensions=[tools]) as client,
        Client(elsewhere, extensions=[stranger]) as another,
        tools.attached(client),
        stranger.attached(another),
    ):
        clients += [client, another]
        server.answers["tools_call"] = _unless_small(server.answers["tools_call"])
        await client.call_tool("plan_day")
        assert current_call() is None
        await client.call_tool("small")
    chains = [asked["_meta"].get("dev.portcullis/chain") for asked in server.requests("tools/call")]
    assert chains == [None, "chain-1", None, None]
    assert "dev.portcullis/chain" not in elsewhere.requests("tools/call")[0]["_meta"]


def _unless_small(answer: Any) -> Any:
    async def answered(server: FakeServer, params: Params) -> dict[str, Any]:
        if params["name"] == "small":
            return said("small")
        result: dict[str, Any] = await answer(server, params)
        return result

    return answered


async def test_a_call_back_may_want_a_call_of_its_own() -> None:
    async def tools_call(server: FakeServer, params: Params) -> dict[str, Any]:
        if KEY in params["_meta"]:
            return said("done")
        return wanted(a=call("back" if params["name"] == "plan_day" else "free"))

    tools = ClientTools(limits=Limits(parallel=1))
    tools.add("free", lambda _: "free", {"type": "object"})

    @tools.tool
    async def back() -> str:
        result = await client.call_tool("inner")
        return str(result.content[0].model_dump()["text"])

    server = FakeServer(tools_call=tools_call)
    async with Client(server, extensions=[tools]) as client, tools.attached(client):
        await client.call_tool("plan_day")
    outcomes = [asked["_meta"][KEY]["results"]["a"] for asked in server.requests("tools/call") if KEY in asked["_meta"]]
    assert [outcome["content"][0]["text"] for outcome in outcomes] == ["free", "done"]


async def test_without_attaching_it_says_what_to_do() -> None:
    tools = ClientTools()
    async with Client(once(a=call("free")), extensions=[tools]) as client:
        with pytest.raises(RuntimeError, match=r"tools\.attached\(client\)"):
            await client.call_tool("plan_day")


async def test_one_instance_one_client() -> None:
    tools = ClientTools()
    async with Client(once(), extensions=[tools]) as client, tools.attached(client):
        with pytest.raises(RuntimeError, match="its own ClientTools"):
            async with tools.attached(client):
                pass
    async with Client(once()) as client:
        with pytest.raises(ValueError, match="declared there"):
            async with tools.attached(client):
                pass


async def test_an_error_of_the_server_is_an_error_of_the_call() -> None:
    async def tools_call(server: FakeServer, params: Params) -> dict[str, Any]:
        if KEY in params["_meta"]:
            raise RpcError(-32602, "the continuation is not good")
        return wanted(a=call("free"))

    tools, server = ClientTools(), FakeServer(tools_call=tools_call)
    tools.add("free", lambda _: None, {"type": "object"})
    async with Client(server, extensions=[tools]) as client, tools.attached(client):
        with pytest.raises(Exception, match="continuation is not good"):
            await client.call_tool("plan_day")
    assert len(server.requests("tools/call")) == 2
