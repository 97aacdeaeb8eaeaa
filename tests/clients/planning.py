"""Lets the unmodified Python `mcp` client make one call of a server's planner, whose calendar lives where the lane says,
and prints what it saw as one line of JSON.

usage: planning.py ERA LANE CALL URL                      (Streamable HTTP)
       planning.py ERA LANE CALL -- COMMAND [ARG ...]     (stdio)

ERA is auto or legacy. CALL is JSON, {tool, arguments}. LANE is where `calendar.free_slots` and `calendar.create_event`
are:

  local           with the server; the client declares nothing
  live, retry     with this client, through the adapter of guest-sdk/clients/python
  ask             nowhere; the client's model stands in for them

In every lane the client has a model, so that nobody asks it only for want of one.

Prints {client, protocolVersion, result | error, served: {tool: calls}, asked: {method: requests}}. planning.mjs and rmcp/
take the same arguments, also the lane `request`, and print the same shape.
"""

import asyncio
import collections
import functools
import importlib.metadata
import json
import os
import re
import sys

from mcp import Client, MCPError, StdioServerParameters
from mcp.types import CreateMessageResultWithTools, SamplingCapability, SamplingToolsCapability, ToolUseContent
from portcullis_client import ClientTools

# What the server's words about a tool that somebody stands in for look like.
STAND_IN = re.compile(r"calls the tool `(.+?)`.*^The plugin's arguments: (.+?)$", re.DOTALL | re.MULTILINE)


def free_slots(day: str) -> dict:
    """Free hours of one day."""
    of_month = int(day[-2:])
    return {"day": day, "slots": [f"{hour:02}:00" for hour in range(9, 17) if (of_month * 5 + hour) % 4 == 0]}


def create_event(day: str, start: str, title: str) -> dict:
    """Puts an event into the calendar."""
    return {"id": f"{day}-{start[:2]}", "day": day, "start": start, "title": title}


CALENDAR = {"calendar.free_slots": free_slots, "calendar.create_event": create_event}


class Agent:
    """The calendar and the model, and how often each was wanted."""

    def __init__(self):
        self.served, self.asked = collections.Counter(), collections.Counter()

    def tools(self, lane: str) -> ClientTools:
        tools = ClientTools(lanes=[lane])
        for name, function in CALENDAR.items():
            tools.tool(name=name)(self.counted(name, function))
        return tools

    def counted(self, name: str, function):
        @functools.wraps(function)
        async def call(**arguments):
            self.served[name] += 1
            return function(**arguments)

        return call

    async def sample(self, _context, params):
        self.asked["sampling/createMessage"] += 1
        name, arguments = STAND_IN.search(params.messages[0].content_as_list[0].text).groups()
        answer = CALENDAR[name](**json.loads(arguments))
        self.served[name] += 1
        used = ToolUseContent(type="tool_use", id="1", name="answer", input=answer)
        return CreateMessageResultWithTools(role="assistant", content=used, model="script", stop_reason="toolUse")


async def drive(era: str, lane: str, call: dict, target: list[str]) -> dict:
    agent = Agent()
    if target[0].startswith(("http://", "https://")):
        server = target[0]
    else:
        server = StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ))
    tools = agent.tools(lane) if lane in ("live", "retry") else None
    client = Client(
        server,
        mode=era,
        sampling_callback=agent.sample,
        sampling_capabilities=SamplingCapability(tools=SamplingToolsCapability()),
        extensions=[tools] if tools else [],
    )
    seen = {"client": f"mcp {importlib.metadata.version('mcp')}"}
    async with client:
        seen["protocolVersion"] = client.protocol_version
        try:
            if tools:
                async with tools.attached(client):
                    result = await client.call_tool(call["tool"], call["arguments"])
            else:
                result = await client.call_tool(call["tool"], call["arguments"])
            seen["result"] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        except MCPError as error:
            seen["error"] = {"code": error.error.code, "message": error.error.message, "data": error.error.data}
    return {**seen, "served": agent.served, "asked": agent.asked}


def main():
    era, lane, call, *target = sys.argv[1:]
    if target and target[0] == "--":
        target = target[1:]
    json.dump(asyncio.run(drive(era, lane, json.loads(call), target)), sys.stdout)
    print()


main()
