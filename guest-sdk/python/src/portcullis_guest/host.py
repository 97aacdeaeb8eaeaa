"""The one way out of a plugin: the real host in WebAssembly, a fake one in tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from .content import Content


@dataclass
class Request:
    """A request to another server."""

    method: str
    url: str
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    timeout: float | None = None
    max_body: int = 4 << 20

    @property
    def target(self) -> str:
        """The method, and the URL as grants write it."""
        return f"{self.method} {self.url.split('#')[0].split('?')[0]}"


@dataclass
class Entry:
    """A kept value, and its version, which differs after every change."""

    value: bytes
    version: int


class Ended:
    """There will be no more messages."""


class TimedOut:
    """No message came in time."""


class Host(Protocol):
    """What a host does. Errors are those of `errors`."""

    def emit(self, content: list[Content]) -> int: ...
    def progress(self, done: float, total: float | None, message: str | None) -> None: ...
    def log(self, level: str, message: str) -> None: ...
    def form(self, key: str | None, message: str, schema: str) -> str: ...
    def sample(self, key: str | None, request: Any) -> Any: ...
    def list_agent_tools(self) -> list[str]: ...
    def call_agent_tool(self, name: str, arguments: str, timeout: float | None, purpose: str | None, chunks: bool) -> Any: ...
    def state_get(self, key: str) -> Entry | None: ...
    def state_set(self, key: str, value: bytes) -> int: ...
    def state_swap(self, key: str, version: int | None, value: bytes) -> int: ...
    def state_remove(self, key: str) -> bool: ...
    def state_keys(self, prefix: str, after: str | None) -> list[str]: ...
    def restored(self) -> bytes | None: ...
    def save(self, state: bytes) -> None: ...
    def next_message(self) -> str | None: ...
    def receive(self, timeout: float | None) -> str | Ended | TimedOut: ...
    def http(self, request: Request) -> Any: ...


_current: Host | None = None


def use(host: Host | None) -> Host | None:
    """Sets the host, and returns the one before."""
    global _current
    before, _current = _current, host
    return before


def host() -> Host:
    if _current is None:
        raise RuntimeError("there is no host here; in a test, call the tool by portcullis_guest.testing.Host")
    return _current
