"""Lets a server's tool call this client's tools through `portcullis_client`, and prints what happened as one line of JSON.

usage: python adapter.py ERA LANES SCRIPT URL                      (Streamable HTTP)
       python adapter.py ERA LANES SCRIPT -- COMMAND [ARG ...]     (stdio)

The tools are a calendar, as plugins/planner knows it. ERA is auto or legacy, LANES is separated by commas. SCRIPT is JSON: `tool`, `arguments`, and what the client does:
`deny` and `edit` are days, `breaks` a day on which the tool fails, `steer` what is said when the first chunk comes.
"""

import asyncio
import json
import logging
import sys
from collections import Counter
from typing import Any

from mcp import Client, MCPError, StdioServerParameters
from portcullis_client import Allow, Call, ClientTools, Decision, Deny, Edit, PartialResults, current_call, steer

ERA, LANES, SCRIPT, *TARGET = sys.argv[1:]
OTHER_DAY = "2026-12-31"
script: dict[str, Any] = json.loads(SCRIPT)
counts: Counter[str] = Counter()
calls: list[dict[str, Any]] = []
at_once = most = 0


async def approve(call: Call) -> Decision:
    day = call.arguments["day"]
    if day == script.get("deny"):
        return Deny("the user said no")
    return Edit({"day": OTHER_DAY}) if day == script.get("edit") else Allow()


tools = ClientTools(approve=approve, lanes=LANES.split(","))


@tools.tool(name="calendar.free_slots", read_only=True, private=bool(script.get("private")))
async def free_slots(day: str) -> dict[str, Any]:
    """Free hours of one day."""
    global at_once, most
    counts["free_slots"] += 1
    at_once += 1
    most = max(most, at_once)
    await asyncio.sleep(0.005)
    at_once -= 1
    if day == script.get("breaks"):
        raise OSError("a secret")
    return {"day": day, "slots": ["18:00"] if day == OTHER_DAY else ["10:00", "11:00"]}


@tools.tool(name="calendar.create_event")
async def create_event(day: str, start: str, title: str) -> dict[str, str]:
    """Puts an event into the calendar."""
    counts["create_event"] += 1
    served = current_call()
    assert served is not None
    calls.append({"plugin": served.plugin, "tool": served.tool, "purpose": served.purpose, "chain": bool(served.chain)})
    if again := script.get("again"):
        inner = await client.call_tool(again["tool"], again.get("arguments", {}))
        calls.append({"again": inner.is_error, "text": str(inner.content[0].model_dump().get("text", ""))})
    return {"id": f"{day}-{start[:2]}", "day": day, "start": start, "title": title}


chunks = PartialResults()
target = TARGET[0] if TARGET[0] != "--" else StdioServerParameters(command=TARGET[1], args=TARGET[2:])


async def main() -> dict[str, Any]:
    global client
    seen: dict[str, Any] = {}
    async with Client(target, mode=ERA, extensions=[tools, chunks]) as client, tools.attached(client):
        async with chunks.run(client, script["tool"], script.get("arguments", {})) as run:
            async for chunk in run:
                for message in script.get("steer", []) if chunk.seq == 0 else []:
                    seen["steered"] = await steer(client, message, call=run.call) == run.call
            try:
                seen["result"] = (await run.result()).model_dump(by_alias=True, mode="json", exclude_none=True)
                seen["intact"] = run.delivery.intact
            except MCPError as error:
                seen["error"] = {"code": error.code, "message": str(error)}
        seen["chunks"] = [chunk.text for chunk in run.chunks]
        seen["version"] = client.protocol_version
    return seen | {"counts": counts, "calls": calls, "most": most}


# A tool that breaks is logged by the adapter; here that is not news.
logging.disable(logging.ERROR)
print(json.dumps(asyncio.run(main())))
