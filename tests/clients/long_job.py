"""Follows a long call with the unmodified Python `mcp` client, which does not know tasks, by the tools of the server. Its
connections may be cut at any time.

usage: long_job.py TOOL ARGUMENTS URL

Prints {results, failures}: the texts of all results of the call, of which there must be one, and how many requests were lost.
long_job.mjs takes the same arguments and prints the same.
"""

import asyncio
import json
import sys

from mcp import Client

# A call of a client that is cut off would wait for ever.
PATIENCE_S = 3.0


async def lost(request):
    """Sends a request over a connection of its own. None if it is lost."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await request()
    except Exception:
        return None


async def main(tool: str, arguments: dict, url: str) -> dict:
    seen = {"results": [], "failures": 0}

    async def call(name: str, arguments: dict):
        async with Client(url, mode="auto") as client:
            return await client.call_tool(name, arguments)

    link = await call(tool, arguments)
    task = (link.meta or {})["dev.portcullis/task"]
    while not seen["results"]:
        answer = await lost(lambda: call("task_result", {"task": task}))
        if answer is None:
            seen["failures"] += 1
        elif (answer.structured_content or {}).get("status") not in ("working", "input_required"):
            seen["results"] += [block.text for block in answer.content]
    return seen


name, arguments, url = sys.argv[1:]
print(json.dumps(asyncio.run(main(name, json.loads(arguments), url))))
