"""The extension `dev.portcullis/partial-results`: what a tool gives while it still runs."""

import base64
import contextlib
import hashlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import anyio
from mcp import Client
from mcp.client import ClientExtension, NotificationBinding
from mcp_types import CallToolResult, RequestParamsMeta
from pydantic import BaseModel, ConfigDict, Field

IDENTIFIER = "dev.portcullis/partial-results"
TOKEN_KEY = "dev.portcullis/partialResultToken"
STREAM_KEY = "dev.portcullis/stream"
CALL_KEY = "dev.portcullis/call"

_REORDER = 16
"""How many chunks may overtake one before it is taken for lost. Libraries reorder by a few; a server may drop some."""
_LATE_SECONDS = 1.0
"""How long chunks may come after their result, which the SDK handles on a task of its own."""
_MAX_MISSING = 10_000
"""Bounds what a server that says it gave a thousand million chunks makes us list."""


class Chunk(BaseModel):
    """A piece of a tool's output; as trustworthy as its result, which is not at all."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    seq: int
    content: list[dict[str, Any]] = Field(default_factory=list)
    """Content blocks as the server sent them."""
    token: Any = None
    final: bool = False
    meta: dict[str, Any] = Field(default_factory=dict, alias="_meta")

    @property
    def text(self) -> str:
        """The text of its text blocks, one after the other."""
        return "".join(str(block.get("text", "")) for block in self.content if block.get("type") == "text")

    @property
    def call(self) -> str | None:
        """The id of the call, by which it can be steered."""
        call = self.meta.get(CALL_KEY)
        return call if isinstance(call, str) else None

    def is_for(self, audience: str) -> bool:
        """Whether any block is for `user` or `assistant`; one without an audience is for both."""
        audiences = [(block.get("annotations") or {}).get("audience") for block in self.content]
        return any(not named or audience in named for named in audiences)


OnChunk: TypeAlias = Callable[[Chunk], Awaitable[None] | None]


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """What became of a call's chunks."""

    given: int
    """By the tool."""
    dropped: int
    """By the server, for a reader that was behind."""
    received: int
    missing: tuple[int, ...]
    """The numbers of the chunks that are not here, dropped or lost."""
    intact: bool
    """Every chunk that was sent is here, as it was sent: the hash fits."""


@dataclass
class Run:
    """A call under way: an async iterator of its chunks in their order, then its result."""

    _token: str
    _chunks: dict[int, Chunk] = field(default_factory=dict)
    _next: int = 0
    _ended: bool = False
    _result: CallToolResult | None = None
    _error: BaseException | None = None
    _changed: anyio.Event = field(default_factory=anyio.Event)
    call: str | None = None
    """The id of the call once a chunk has told it, for `steer`."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Chunk:
        while True:
            if (chunk := self._take()) is not None:
                return chunk
            if self._ended:
                raise StopAsyncIteration
            await self._changed.wait()

    def _take(self) -> Chunk | None:
        """The next chunk; one that is missing is passed over when nothing more comes, or too much came after it."""
        waiting = [seq for seq in self._chunks if seq >= self._next]
        if not waiting:
            return None
        first = min(waiting)
        if first != self._next and not self._ended and len(waiting) <= _REORDER:
            return None
        self._next = first + 1
        return self._chunks[first]

    def _keep(self, chunk: Chunk) -> None:
        self.call = chunk.call or self.call
        if not chunk.final:
            self._chunks.setdefault(chunk.seq, chunk)
        self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def _finish(self, result: CallToolResult | None, error: BaseException | None) -> None:
        if result is not None:
            due = _stream(result).get("chunks", 0) - _stream(result).get("dropped", 0)
            with anyio.move_on_after(_LATE_SECONDS):
                while len(self._chunks) < due:
                    await self._changed.wait()
        self._result, self._error, self._ended = result, error, True
        self._wake()

    async def result(self) -> CallToolResult:
        """The call's result, complete without any chunk. Raises what the call raised."""
        while not self._ended:
            await self._changed.wait()
        if self._error is not None:
            raise self._error
        assert self._result is not None, "a call that ended has a result or an error"
        return self._result

    @property
    def chunks(self) -> Sequence[Chunk]:
        """Those that are here, in their order."""
        return [self._chunks[seq] for seq in sorted(self._chunks)]

    @property
    def delivery(self) -> Delivery:
        """Whether all is here; to be asked when there is a result."""
        if self._result is None:
            raise RuntimeError("what was delivered is known when there is a result")
        stream = _stream(self._result)
        given = max(0, stream.get("chunks", 0))
        known = range(min(given, _MAX_MISSING))
        return Delivery(
            given=given,
            dropped=stream.get("dropped", 0),
            received=len(self._chunks),
            missing=tuple(seq for seq in known if seq not in self._chunks),
            intact=given - stream.get("dropped", 0) == len(self._chunks)
            and (given == 0 or stream.get("sha256") == digest(self._chunks.values())),
        )


class PartialResults(ClientExtension):
    """Chunks of this client's calls.

    Pass it to `Client(extensions=[...])`. `run` makes a call whose chunks can be iterated; `on_chunk` sees those of all
    other calls, as they come::

        async with chunks.run(client, "write_book", {"pages": 3}) as book:
            async for chunk in book:
                print(chunk.text)
            result = await book.result()
        assert book.delivery.intact
    """

    identifier = IDENTIFIER

    def __init__(self, on_chunk: OnChunk | None = None, *, max_chunks: int = 10_000) -> None:
        """Makes it; `max_chunks` bounds what is kept of one call, the rest is ignored."""
        self._on_chunk = on_chunk
        self._max_chunks = max_chunks
        self._runs: dict[str, Run] = {}

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        """The one notification of the extension."""
        method = "notifications/dev.portcullis/partial_result"
        return [NotificationBinding(method=method, params_type=Chunk, handler=self._heard)]

    async def _heard(self, chunk: Chunk) -> None:
        run = self._runs.get(chunk.token) if isinstance(chunk.token, str) else None
        if run is not None:
            if len(run._chunks) < self._max_chunks:
                run._keep(chunk)
        elif self._on_chunk is not None and not chunk.final:
            told = self._on_chunk(chunk)
            if told is not None:
                await told

    @contextlib.asynccontextmanager
    async def run(
        self,
        client: Client,
        name: str,
        arguments: dict[str, Any] | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        read_timeout_seconds: float | None = None,
    ) -> AsyncIterator[Run]:
        """Calls a tool; leaving the block before the call has ended cancels it."""
        token = secrets.token_urlsafe(12)
        run = self._runs[token] = Run(token)
        said: RequestParamsMeta = {**(meta or {}), TOKEN_KEY: token}  # type: ignore[typeddict-item]

        async def call() -> None:
            try:
                result = await client.call_tool(name, arguments, read_timeout_seconds, meta=said)
            except Exception as error:
                # Kept for whoever asks for the result.
                await run._finish(None, error)
            else:
                await run._finish(result, None)

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call)
                try:
                    yield run
                finally:
                    tasks.cancel_scope.cancel()
        finally:
            del self._runs[token]


def digest(chunks: Iterable[Chunk]) -> str:
    """The hash over chunks that the result of their call names."""
    said = hashlib.sha256()
    for chunk in sorted(chunks, key=lambda chunk: chunk.seq):
        said.update(f"chunk {chunk.seq} {len(chunk.content)}\n".encode())
        for block in chunk.content:
            payload = _payload(block)
            said.update(f"{block.get('type')} {len(payload)}\n".encode() + payload)
    return said.hexdigest()


def _payload(block: Mapping[str, Any]) -> bytes:
    match block:
        case {"type": "text", "text": str(text)}:
            return text.encode()
        case {"type": "image" | "audio", "data": str(data)}:
            return _decoded(data)
        case {"type": "resource_link", "uri": str(uri)}:
            return uri.encode()
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text.encode()
        case {"type": "resource", "resource": {"blob": str(blob)}}:
            return _decoded(blob)
    return b""


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        # The hash will not fit, which is what is to be said of it.
        return b""


def _stream(result: CallToolResult) -> Mapping[str, Any]:
    stream = (result.meta or {}).get(STREAM_KEY)
    if not isinstance(stream, Mapping):
        return {}
    numbers = {key: stream[key] for key in ("chunks", "dropped") if isinstance(stream.get(key), int)}
    return {**numbers, "sha256": stream.get("sha256")}
