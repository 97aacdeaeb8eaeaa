"""The one way out of a plugin: the real host in WebAssembly, a fake one in tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from .content import Content, Role


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


@dataclass(frozen=True)
class FormQuestion:
    message: str
    schema: str


@dataclass(frozen=True)
class UrlQuestion:
    """Either an address or the name of a connection."""

    message: str
    address: str | None = None
    connection: str | None = None


@dataclass(frozen=True)
class RootsQuestion:
    pass


@dataclass(frozen=True)
class Root:
    """A folder or a repository that the user works in."""

    uri: str
    name: str | None = None


@dataclass(frozen=True)
class Abilities:
    """What the client of a call can answer. `sample_tools` is sampling with tools."""

    form: bool = False
    url: bool = False
    sample: bool = False
    sample_tools: bool = False
    roots: bool = False


@dataclass(frozen=True)
class Attributes:
    """What is said of a published resource."""

    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    audience: tuple[Role, ...] = ()
    priority: float | None = None
    ttl: float | None = None


@dataclass(frozen=True)
class PublishedPrompt:
    name: str
    title: str | None
    description: str | None
    arguments: list[str]
    messages: list[tuple[Role, str]]
    ttl: float | None


class Ended:
    """There will be no more messages."""


class TimedOut:
    """No message came in time."""


class Host(Protocol):
    """What a host does. Errors are those of `errors`."""

    def emit(self, content: list[Content]) -> int: ...
    def progress(self, done: float, total: float | None, message: str | None) -> None: ...
    def log(self, level: str, message: str) -> None: ...
    # The answer to a form is JSON text, to a page None; or else Declined or Dismissed.
    def ask(self, key: str | None, question: Any) -> Any: ...
    def ask_many(self, keyed: list[tuple[str, Any]]) -> list[Any]: ...
    def supported(self) -> Abilities: ...
    def list_agent_tools(self) -> list[str]: ...
    def call_agent_tool(self, name: str, arguments: str, timeout: float | None, purpose: str | None, chunks: bool) -> Any: ...
    # Results and errors, in the order of the calls, each as the arguments of `call_agent_tool`.
    def call_agent_tools(self, calls: list[tuple[Any, ...]]) -> list[Any]: ...
    def put_resource(self, path: str, body: str | bytes, attributes: Attributes) -> str: ...
    def append_resource(self, path: str, body: str | bytes) -> str: ...
    def remove_resource(self, path: str) -> None: ...
    def put_prompt(self, prompt: PublishedPrompt) -> None: ...
    def remove_prompt(self, name: str) -> None: ...
    def emit_event(self, name: str, payload: str, once: str | None) -> bool: ...
    def connected(self, name: str) -> bool: ...
    def send(self, name: str, request: Request) -> Any: ...
    def fuel_left(self) -> int | None: ...
    def deadline_left(self) -> int: ...
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
