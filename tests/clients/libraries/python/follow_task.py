"""Makes one call with FastMCP's client, which follows tasks once `fastmcp_tasks` is imported, and prints what it read.

usage: follow_task.py TOOL ARGUMENTS URL                      (Streamable HTTP)
       follow_task.py TOOL ARGUMENTS -- COMMAND [ARG ...]     (stdio)

Prints {version, asked, read}: the messages of the forms that it was asked, which it answers, and the text of the result.
"""

import asyncio
import json
import os
import sys

import fastmcp_tasks
from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def main(tool: str, arguments: str, target: list[str]) -> dict:
    asked: list[str] = []

    async def answer(message, response_type, params, context):
        asked.append(message)
        return {"name": f"Name {len(asked)}"}

    server = target[0] if len(target) == 1 else StdioTransport(target[1], target[2:], env=dict(os.environ))
    async with Client(server, elicitation_handler=answer) as client:
        result = await client.call_tool(tool, json.loads(arguments))
    return {"version": fastmcp_tasks.__version__, "asked": asked, "read": result.content[0].text}


print(json.dumps(asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))))
