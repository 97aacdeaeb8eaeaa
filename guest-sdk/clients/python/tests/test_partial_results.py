"""Chunks: order, what is missing, the hash, several calls at once."""

from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError

from portcullis_client import Chunk, PartialResults
from portcullis_client.partial_results import digest

from fake import FakeServer, Params, RpcError, said, until

pytestmark = pytest.mark.anyio

TOKEN = "dev.portcullis/partialResultToken"


def chunk(seq: int, text: str, **more: Any) -> dict[str, Any]:
    return {"seq": seq, "content": [{"type": "text", "text": text, **more}], "_meta": {"dev.portcullis/call": "8f1c"}}


def server_of(sent: Sequence[dict[str, Any]], *, given: int, dropped: int = 0, sha256: str | None = None) -> FakeServer:
    """A tool that gives these chunks, in this order."""
    hashed = sha256 or digest(Chunk.model_validate(one) for one in sent)

    async def tools_call(server: FakeServer, params: Params) -> dict[str, Any]:
        for one in sent:
            await server.notify("partial_result", token=params["_meta"].get(TOKEN), **one)
        await server.notify("partial_result", token=params["_meta"].get(TOKEN), seq=given, content=[], final=True)
        stream = {"chunks": given, "dropped": dropped, "sha256": hashed}
        return {**said("whole"), "_meta": {"dev.portcullis/stream": stream}}

    return FakeServer(tools_call=tools_call)


def test_the_hash_of_the_specification() -> None:
    one = Chunk.model_validate({"seq": 0, "content": [{"type": "text", "text": "hello"}]})
    assert digest([one]) == "b6173ed623cad9752bfc6170ccd45b5083c856ac6a5338f3fadf2ef7e95d3066"


def test_the_hash_knows_every_block() -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "image", "data": "aGk="},
        {"type": "resource_link", "uri": "file:///a"},
        {"type": "resource", "resource": {"text": "t"}},
        {"type": "resource", "resource": {"blob": "aGk="}},
        {"type": "image", "data": "not base64"},
        {"type": "unknown"},
    ]
    whole = digest([Chunk(seq=0, content=blocks)])
    for number in range(4):
        assert digest([Chunk(seq=0, content=[*blocks[:number], *blocks[number + 1 :]])]) != whole


async def test_in_order_whatever_overtook() -> None:
    sent = [chunk(1, "b"), chunk(0, "a"), chunk(2, "c")]
    chunks, server = PartialResults(), server_of(sent, given=3)
    async with Client(server, extensions=[chunks]) as client, chunks.run(client, "book") as book:
        assert [one.text async for one in book] == ["a", "b", "c"]
        result = await book.result()
        assert result.content[0].model_dump()["text"] == "whole"
        assert book.call == "8f1c"
        assert book.delivery.intact
        assert (book.delivery.given, book.delivery.received, book.delivery.missing) == (3, 3, ())


async def test_dropped_by_the_server() -> None:
    chunks, server = PartialResults(), server_of([chunk(0, "a"), chunk(3, "d")], given=4, dropped=2)
    async with Client(server, extensions=[chunks]) as client, chunks.run(client, "book") as book:
        assert [one.seq async for one in book] == [0, 3]
    assert book.delivery.missing == (1, 2)
    assert book.delivery.intact


async def test_lost_or_changed_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portcullis_client.partial_results._LATE_SECONDS", 0.05)
    chunks, server = PartialResults(), server_of([chunk(0, "a")], given=2)
    async with Client(server, extensions=[chunks]) as client, chunks.run(client, "book") as book:
        await book.result()
    assert book.delivery.missing == (1,)
    assert not book.delivery.intact

    chunks, server = PartialResults(), server_of([chunk(0, "a")], given=1, sha256="0" * 64)
    async with Client(server, extensions=[chunks]) as client, chunks.run(client, "book") as book:
        await book.result()
    assert book.delivery.missing == ()
    assert not book.delivery.intact


async def test_a_gap_does_not_stop_what_comes_after() -> None:
    gate = anyio.Event()

    async def tools_call(server: FakeServer, params: Params) -> dict[str, Any]:
        for seq in range(1, 30):
            await server.notify("partial_result", token=params["_meta"][TOKEN], **chunk(seq, str(seq)))
        await gate.wait()
        return said("whole")

    chunks = PartialResults()
    async with (
        Client(FakeServer(tools_call=tools_call), extensions=[chunks]) as client,
        chunks.run(client, "book") as book,
    ):
        with anyio.fail_after(5):
            first = await anext(book)
        assert first.seq == 1
        gate.set()
        assert [one.seq async for one in book] == list(range(2, 30))


async def test_calls_are_kept_apart_and_others_heard() -> None:
    heard: list[str] = []
    chunks = PartialResults(on_chunk=lambda one: heard.append(one.text))
    server = server_of([chunk(0, "a"), chunk(1, "b")], given=2)
    async with Client(server, extensions=[chunks]) as client:
        async with chunks.run(client, "one") as one, chunks.run(client, "two") as two:
            assert [c.text async for c in one] == [c.text async for c in two] == ["a", "b"]
        assert heard == []
        await client.call_tool("three")
        await client.list_tools()
        await until(lambda: len(heard) == 2)
    assert sorted(heard) == ["a", "b"]


async def test_a_call_that_fails_and_one_that_is_left() -> None:
    async def tools_call(server: FakeServer, params: Params) -> dict[str, Any]:
        if params["name"] == "fails":
            raise RpcError(-32602, "no such tool")
        await anyio.sleep_forever()
        return {}

    chunks = PartialResults()
    async with Client(FakeServer(tools_call=tools_call), extensions=[chunks]) as client:
        async with chunks.run(client, "fails") as failing:
            assert [one async for one in failing] == []
            with pytest.raises(MCPError, match="no such tool"):
                await failing.result()
            with pytest.raises(RuntimeError, match="when there is a result"):
                _ = failing.delivery
        with anyio.fail_after(5):
            async with chunks.run(client, "sleeps"):
                pass
        assert chunks._runs == {}


def test_audience() -> None:
    for_user = Chunk(seq=0, content=[{"type": "text", "text": "", "annotations": {"audience": ["user"]}}])
    assert for_user.is_for("user")
    assert not for_user.is_for("assistant")
    assert Chunk(seq=0, content=[{"type": "text", "text": ""}]).is_for("assistant")
