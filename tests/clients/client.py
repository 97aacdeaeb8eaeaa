"""Drives one tool call with the unmodified Python `mcp` client and prints what it saw as one line of JSON.

usage: client.py [options] URL                      (Streamable HTTP)
       client.py [options] -- COMMAND [ARG ...]     (stdio)

Prints {protocolVersion, tools, result | error, chunks, progress, ended_ms, cancelled_ms?, then?}; times are in
milliseconds since the call was sent. client.mjs takes the same options and prints the same shape.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from typing import Any

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.extension import ClientExtension, NotificationBinding
from pydantic import BaseModel

# The client delivers notifications on tasks of their own: the last may be handled after the result.
LATE_NOTIFICATIONS_S = 2.0
SILENCE_S = 0.2


class Part(BaseModel):
    seq: int
    content: list[Any]
    token: str | int | None = None
    final: bool = False


class PartialResults(ClientExtension):
    """Takes part in `dev.portcullis/partial-results` by the client's own extension interface."""

    identifier = "dev.portcullis/partial-results"

    def __init__(self, keep):
        self.keep = keep

    def notifications(self):
        method = "notifications/dev.portcullis/partial_result"
        return [NotificationBinding(method=method, params_type=Part, handler=self.keep)]


class Call:
    """One call and everything that arrived while it ran."""

    def __init__(self):
        self.chunks: list[dict] = []
        self.progress: list[dict] = []
        self.last = self.start = time.perf_counter()

    def now(self) -> float:
        self.last = time.perf_counter()
        return round((self.last - self.start) * 1000, 3)

    async def on_part(self, part: Part):
        if part.final:
            return
        self.chunks.append({"seq": part.seq, "content": part.content, "t_ms": self.now(), "token": part.token})

    async def on_progress(self, progress, total, message):
        self.progress.append({"progress": progress, "total": total, "message": message, "t_ms": self.now()})

    async def settle(self, expected: int | None):
        """Waits for notifications still under way: until all `expected` chunks are here, else until it is silent."""
        end = time.perf_counter() + LATE_NOTIFICATIONS_S
        while time.perf_counter() < end:
            if expected is not None and len(self.chunks) >= expected:
                return
            if expected is None and time.perf_counter() - self.last > SILENCE_S:
                return
            await asyncio.sleep(0.01)


def error_of(error: MCPError) -> dict:
    return {"code": error.error.code, "message": error.error.message, "data": error.error.data}


async def run_call(client: Client, call: Call, tool: str, arguments: dict, options) -> dict:
    """The call's outcome: result or error, when it ended, and when it was cancelled if it was."""
    call.last = call.start = time.perf_counter()
    on_progress = call.on_progress if options.progress else None
    task = asyncio.create_task(client.call_tool(tool, arguments, progress_callback=on_progress))
    seen: dict[str, Any] = {}
    if options.cancel_after is not None:
        await asyncio.wait([task], timeout=options.cancel_after / 1000)
        if not task.done():
            seen["cancelled_ms"] = call.now()
            task.cancel()
    try:
        result = await task
        seen["result"] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    except MCPError as error:
        seen["error"] = error_of(error)
    except asyncio.CancelledError:
        seen["error"] = {"message": "cancelled by the client"}
    seen["ended_ms"] = call.now()
    return seen


async def drive(options) -> dict:
    target = options.target
    if len(target) == 1 and target[0].startswith(("http://", "https://")):
        server = target[0]
    else:
        server = StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ))
    call = Call()
    extensions = [PartialResults(call.on_part)] if options.extension else []
    async with Client(server, mode=options.era, extensions=extensions) as client:
        tools = (await client.list_tools()).tools
        seen: dict[str, Any] = {
            "protocolVersion": client.protocol_version,
            "tools": [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in tools],
        }
        if options.tool:
            seen |= await run_call(client, call, options.tool, json.loads(options.args), options)
            stream = seen.get("result", {}).get("_meta", {}).get("dev.portcullis/stream", {})
            await call.settle(stream.get("chunks") if options.extension else None)
            seen["chunks"] = sorted(call.chunks, key=lambda chunk: chunk["seq"])
            seen["progress"] = call.progress
        if options.then:
            options.cancel_after = None
            seen["then"] = await run_call(client, Call(), options.then, json.loads(options.then_args), options)
        return seen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--era", default="auto", choices=["auto", "legacy", "2026-07-28"])
    parser.add_argument("--extension", action="store_true", help="declare dev.portcullis/partial-results")
    parser.add_argument("--no-progress", dest="progress", action="store_false", help="give no progressToken")
    parser.add_argument("--tool", help="the tool to call; absent: only list the tools")
    parser.add_argument("--args", default="{}", help="its arguments, a JSON object")
    parser.add_argument("--cancel-after", type=float, metavar="MS", help="cancel the call after this time")
    parser.add_argument("--then", metavar="TOOL", help="a second call in the same session")
    parser.add_argument("--then-args", default="{}")
    parser.add_argument("target", nargs="+")
    json.dump(asyncio.run(drive(parser.parse_args())), sys.stdout)
    print()


main()
