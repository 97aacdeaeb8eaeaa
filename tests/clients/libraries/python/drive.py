"""Lets one MCP client library list a server's tools and call some, and prints what a model would read.

usage: drive.py ADAPTER PACKAGE < JOB

A job is one JSON object: `command` (an array) or `url`, and `calls`, an array of [tool, arguments]. Prints a line of
JSON for each event: {version}, {tools}, then {read} for each call. The drivers in other languages do the same.

An adapter is a file beside this one with an async context manager `connect(server)` for the tools' names and a
function that calls one.
"""

import asyncio
import importlib
import importlib.metadata
import json
import os
import sys
from dataclasses import dataclass, field

from pydantic_core import to_json


@dataclass
class Server:
    url: str | None = None
    command: str = ""
    args: list[str] = field(default_factory=list)


def say(**event):
    OUT.write(json.dumps(event) + "\n")
    OUT.flush()


def text(value) -> str:
    if isinstance(value, str):
        return value
    return to_json(value, fallback=str).decode()


def reason(error: BaseException) -> str:
    """The error with all that it groups or was caused by."""
    parts = [f"{type(error).__name__}: {error}"]
    parts += map(reason, getattr(error, "exceptions", ()))
    return "; ".join(parts)


async def main(adapter: str, package: str, job: dict):
    say(version=importlib.metadata.version(package))
    words = job.get("command") or [""]
    server = Server(job.get("url"), words[0], words[1:])
    async with importlib.import_module(adapter).connect(server) as (tools, call):
        say(tools=tools)
        for tool, arguments in job["calls"]:
            try:
                read = text(await call(tool, arguments))
            except Exception as error:
                read = reason(error)
            say(read=read)


# Libraries print too: only events go to stdout.
OUT = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
asyncio.run(main(sys.argv[1], sys.argv[2], json.load(sys.stdin)))
