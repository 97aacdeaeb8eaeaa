"""Lets the unmodified Python `mcp` client answer a server's questions and prints what it saw as one line of JSON.

usage: asking.py ERA SCRIPT URL                      (Streamable HTTP)
       asking.py ERA SCRIPT -- COMMAND [ARG ...]     (stdio)

ERA is auto or legacy. SCRIPT is a JSON list of calls, made one after the other over one connection:
{name, tool, arguments, answer, content, reports}, where `answer` says what the user, model and workspace do:

  accept   forms get `content`, pages are opened, the model says "Paris", there is one root
  decline  the user says no
  unable   made by a client that declares nothing, over a connection of its own
  never    nobody answers, and the call is cancelled once it has asked
  stop     as accept, and the call is cancelled `stop_ms` after it was answered

`reports` is how much progress the call reports; clients may hear the last of it after the result.

Prints {client, protocolVersion, calls: [{name, asked, progress, result | error, withdrawn?}]}. asking.mjs and rmcp/
take the same arguments and print the same shape; what may differ is known to whoever compares.
"""

import asyncio
import importlib.metadata
import json
import os
import sys
import time

from mcp import Client, MCPError, StdioServerParameters
from mcp.types import CreateMessageResult, ElicitResult, ListRootsResult, Root, SamplingCapability, TextContent
from mcp.types import SamplingToolsCapability

# How long a question may stay open after its call was cancelled.
WITHDRAWAL_S = 5.0
# How long to wait for progress that is still under way.
LATE_PROGRESS_S = 1.0


def plain(model) -> dict:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True) if model else {}


class Person:
    """Answers the questions of one call at a time."""

    def __init__(self):
        self.begin({"answer": "accept"})

    def begin(self, call: dict):
        self.call = call
        self.asked: list[dict] = []
        self.progress: list[str | None] = []
        self.was_asked, self.was_answered, self.withdrawn = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def hear(self, method: str, params: dict) -> bool:
        """Notes a question and says whether the user agrees."""
        schema = params.get("requestedSchema", {})
        self.asked.append({"method": method, "params": params, "fields": list(schema.get("properties", {}))})
        self.was_asked.set()
        if self.call["answer"] == "never":
            try:
                await asyncio.Event().wait()
            finally:
                self.withdrawn.set()
        self.was_answered.set()
        return self.call["answer"] != "decline"

    async def elicit(self, _context, params):
        agrees = await self.hear("elicitation/create", plain(params))
        if not agrees:
            return ElicitResult(action="decline")
        if params.mode == "url":
            return ElicitResult(action="accept")
        return ElicitResult(action="accept", content=self.call["content"])

    async def sample(self, _context, params):
        await self.hear("sampling/createMessage", plain(params))
        said = TextContent(type="text", text="Paris")
        return CreateMessageResult(role="assistant", content=said, model="script", stop_reason="endTurn")

    async def roots(self, context):
        await self.hear("roots/list", {"_meta": dict(context.meta)} if context.meta else {})
        return ListRootsResult(roots=[Root(uri="file:///repo", name="repo")])

    async def on_progress(self, _progress, _total, message):
        self.progress.append(message)


async def make(client: Client, person: Person, call: dict) -> dict:
    person.begin(call)
    meta = {"dev.portcullis/correlationId": call["name"]}
    calling = client.call_tool(call["tool"], call["arguments"], progress_callback=person.on_progress, meta=meta)
    task = asyncio.create_task(calling)
    if call["answer"] == "never":
        await asyncio.wait([task, asyncio.create_task(person.was_asked.wait())], return_when=asyncio.FIRST_COMPLETED)
        task.cancel()
    if call["answer"] == "stop":
        await person.was_answered.wait()
        await asyncio.wait([task], timeout=call["stop_ms"] / 1000)
        task.cancel()
    seen = {"name": call["name"], "asked": person.asked, "progress": person.progress}
    try:
        seen["result"] = plain(await task)
    except MCPError as error:
        seen["error"] = {"code": error.error.code, "message": error.error.message, "data": error.error.data}
    except asyncio.CancelledError:
        seen["error"] = {"message": "cancelled by the client"}
    end = time.monotonic() + LATE_PROGRESS_S
    while len(person.progress) < call["reports"] and time.monotonic() < end:
        await asyncio.sleep(0.01)
    if call["answer"] == "never":
        try:
            await asyncio.wait_for(person.withdrawn.wait(), WITHDRAWAL_S)
        except TimeoutError:
            pass
        seen["withdrawn"] = person.withdrawn.is_set()
    return seen


def connect(target: list[str], era: str, person: Person | None) -> Client:
    if target[0].startswith(("http://", "https://")):
        server = target[0]
    else:
        server = StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ))
    if person is None:
        return Client(server, mode=era)
    return Client(
        server,
        mode=era,
        elicitation_callback=person.elicit,
        sampling_callback=person.sample,
        sampling_capabilities=SamplingCapability(tools=SamplingToolsCapability()),
        list_roots_callback=person.roots,
    )


async def drive(era: str, script: list[dict], target: list[str]) -> dict:
    person, calls = Person(), {}
    for answers in (True, False):
        mine = [call for call in script if (call["answer"] != "unable") == answers]
        if not mine:
            continue
        async with connect(target, era, person if answers else None) as client:
            version = client.protocol_version
            for call in mine:
                calls[call["name"]] = await make(client, person, call)
    name = f"mcp {importlib.metadata.version('mcp')}"
    return {"client": name, "protocolVersion": version, "calls": [calls[call["name"]] for call in script]}


def main():
    era, script, *target = sys.argv[1:]
    if target and target[0] == "--":
        target = target[1:]
    json.dump(asyncio.run(drive(era, json.loads(script), target)), sys.stdout)
    print()


main()
