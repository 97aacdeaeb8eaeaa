"""The demo's first half: an unmodified MCP client uses the server that `cargo xtask demo` started.

usage: demo.py URL NOTES-FOLDER

Prints what a person would want to see and checks each step: anything that is not as it must be ends it with exit code 1.
"""

import asyncio
import json
import os
import sys
import textwrap
import time
from pathlib import Path

from mcp import Client
from mcp.client.extension import ClientExtension, NotificationBinding
from pydantic import BaseModel

# Enough to see the stream; a larger tree has more folders than a screen has lines.
FOLDERS_SHOWN = 12
WIDTH = 112
USAGE = "dev.portcullis/usage"

COLOURED = sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def paint(code: int, text: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if COLOURED else text


def heading(text: str):
    print(f"\n{paint(1, text)}", flush=True)


def line(text: str, mark: str = " "):
    print(f" {mark} {text}", flush=True)


def good(text: str):
    line(text, paint(32, "✓"))


def short(text: str, width: int = WIDTH) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"


class Wrong(Exception):
    """A step that did not go as the demo says."""


def must(condition, what: str):
    if not condition:
        raise Wrong(f"this is not so: {what}")


def text_of(result) -> str:
    return "\n".join(part.text for part in result.content if part.type == "text")


class Part(BaseModel):
    seq: int
    content: list[dict]
    final: bool = False


class Chunks(ClientExtension):
    """Declares `dev.portcullis/partial-results` and prints each chunk as it arrives."""

    identifier = "dev.portcullis/partial-results"

    def __init__(self):
        self.start = time.perf_counter()
        self.seen: dict[int, float] = {}

    def notifications(self):
        method = "notifications/dev.portcullis/partial_result"
        return [NotificationBinding(method=method, params_type=Part, handler=self.show)]

    async def show(self, part: Part):
        if part.final:
            return
        self.seen[part.seq] = time.perf_counter() - self.start
        if len(self.seen) <= FOLDERS_SHOWN:
            text = " ".join(piece.get("text", "") for piece in part.content)
            line(f"{paint(36, f'{self.seen[part.seq] * 1000:6.0f} ms')}  {short(text, WIDTH - 12)}")


async def tools(client: Client):
    heading("The tools that an MCP client sees")
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    for name, tool in sorted(listed.items()):
        line(f"{paint(36, f'{name:18}')} {short(tool.description or '', WIDTH - 20)}")
    must({"hello__greet", "files__read", "survey__survey"} <= listed.keys(), "hello, files and survey are listed")
    must(not any("notes" in name for name in listed), "the agent's own notes are not a tool for clients")


async def survey(client: Client, chunks: Chunks) -> dict:
    arguments = {"path": "/src"}
    heading(f"survey__survey {json.dumps(arguments)}: chunks arrive while it works")
    reports = []

    async def progress(done, total, message):
        reports.append((done, total))

    chunks.start = time.perf_counter()
    result = await client.call_tool("survey__survey", arguments, progress_callback=progress, meta={USAGE: True})
    took = time.perf_counter() - chunks.start
    usage = (result.meta or {}).get(USAGE, {})
    must(not result.is_error, f"survey works; it said: {text_of(result)}")
    # Notifications are handled beside the result: the last may still be on its way through the client.
    for _ in range(200):
        if len(chunks.seen) >= usage.get("chunks", 0):
            break
        await asyncio.sleep(0.01)
    seen = chunks.seen
    if len(seen) > FOLDERS_SHOWN:
        line(f"… {len(seen) - FOLDERS_SHOWN} more folders")
    must(len(seen) == usage.get("chunks") and sorted(seen) == list(range(len(seen))), "every chunk arrives, without gaps")
    must(len(seen) > 1 and min(seen.values()) < took, "the first chunk arrives before the call ends")
    must(reports, "progress is reported")
    must(result.structured_content, "the report is structured too")
    done, total = max(reports)
    good(
        f"{len(seen)} chunks, the first after {min(seen.values()) * 1000:.0f} ms, the result after {took * 1000:.0f} ms; "
        f"{len(reports)} progress reports up to {done:.0f}{f' of {total:.0f}' if total else ''}"
    )
    line(short(text_of(result)))
    return usage


def note(folder: Path, usage: dict):
    heading("The note that survey left by calling the agent's notes.add")
    saved = [file for file in folder.rglob("*") if file.is_file() and file.stat().st_size]
    must(saved and usage.get("calls", 0) >= 1, "the reverse call saved a note")
    text = max(saved, key=lambda file: file.stat().st_mtime).read_text(encoding="utf-8")
    for words in [words for words in text.splitlines() if words.strip()][:8]:
        line(short(words))
    heading("What the call cost")
    line(
        f"fuel {usage['fuel']:,}, cpu {usage['cpuMs']:.0f} ms, wall {usage['wallMs']:.0f} ms, "
        f"peak memory {usage['peakMemory'] / 2**20:.1f} MiB, {usage['chunks']} chunks, "
        f"{usage['outputBytes']:,} bytes out, {usage['calls']} reverse call"
    )


async def refused(client: Client, tool: str, arguments: dict, code: str):
    start = time.perf_counter()
    result = await client.call_tool(tool, arguments)
    took = (time.perf_counter() - start) * 1000
    error = (result.meta or {}).get("dev.portcullis/error", {})
    words = text_of(result)
    line(f"{paint(36, tool)} {json.dumps(arguments)}  {took:.0f} ms", paint(33, "▸"))
    code_shown = error.get("code", "failed")
    for part in textwrap.wrap(f"{code_shown}: {words.removeprefix('denied: ')}", WIDTH):
        line(part.replace(code_shown, paint(33, code_shown), 1))
    must(result.is_error and error.get("code") == code, f"{tool} ends with {code}")
    must("root:" not in words, "nothing of the file gets out")


async def main(url: str, notes: Path):
    chunks = Chunks()
    async with Client(url, extensions=[chunks]) as client:
        await tools(client)
        usage = await survey(client, chunks)
        note(notes, usage)
        heading("Plugins that misbehave")
        await refused(client, "spin__run", {}, "fuel-exhausted")
        await refused(client, "eat-memory__run", {}, "memory-exceeded")
        await refused(client, "files__read", {"path": "/src/../../etc/passwd"}, "denied")
        await refused(client, "files__read", {"path": "/etc/passwd"}, "denied")
        heading("And the server still answers")
        answer = text_of(await client.call_tool("hello__greet", {"name": "world"}))
        must("world" in answer, f"hello greets; it said: {answer}")
        good(f"hello__greet: {answer}")


def reasons(error: BaseException) -> list[str]:
    """What went wrong, out of the groups that the client's tasks wrap it in."""
    if isinstance(error, BaseExceptionGroup):
        return [reason for part in error.exceptions for reason in reasons(part)]
    return [str(error) if isinstance(error, Wrong) else f"{type(error).__name__}: {error}"]


try:
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
except Exception as error:
    for reason in reasons(error):
        line(paint(31, reason), paint(31, "✗"))
    sys.exit(1)
