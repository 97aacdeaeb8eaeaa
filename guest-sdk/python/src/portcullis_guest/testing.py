"""A fake host, which records what a tool sends and answers what it asks. Tests run natively, without WebAssembly."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import encoding
from . import host as _host
from .agent_tools import AgentResult
from .client import Message, SampleAnswer, SampleRequest
from .content import Content, EmbeddedResource, Text, ToolResult
from .errors import AgentError, Cancelled, CheckpointError, Declined, Denied, Dismissed, StateError, ToolError, Unsupported
from .host import Ended, Entry, Request, TimedOut
from .http import Response
from .plugin import PLUGIN, Context

# Answers of a user who does not fill in a form.
DECLINED, DISMISSED = Declined(), Dismissed()


@dataclass
class Host:
    """What the tool finds. `forms` and `samples` answer its questions in order: a dict or an exception, a text or an exception.
    `agent_tools` are functions of the arguments, `http` one of the request; without one of these, it is denied."""

    forms: list[Mapping[str, Any] | Exception] = field(default_factory=list)
    samples: list[str | Exception] = field(default_factory=list)
    agent_tools: dict[str, Callable[[Any], Any]] = field(default_factory=dict)
    http: Callable[[Request], Response] | None = None
    messages: list[str] = field(default_factory=list)
    context: Context = field(default_factory=Context)
    checkpoint: Any = None

    # What the tool did.
    chunks: list[list[Content]] = field(default_factory=list)
    reports: list[tuple[float, float | None, str | None]] = field(default_factory=list)
    records: list[tuple[str, str]] = field(default_factory=list)
    asked: list[Any] = field(default_factory=list)
    agent_calls: list[tuple[str, Any]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    values: dict[str, bytes] = field(default_factory=dict)
    saved: list[Any] = field(default_factory=list)
    # Nobody reads the output any more: the call was cancelled.
    closed: bool = False

    def call(self, tool: Callable[..., Any] | str, /, **arguments: Any) -> ToolResult:
        """Calls a tool, by its function or its name, with arguments as a client sends them."""
        offer = PLUGIN.tools[tool] if isinstance(tool, str) else tool.__portcullis__  # type: ignore[attr-defined]
        return self._within(lambda: offer.run(self.context, json.dumps(encoding.plain(arguments))))

    def read(self, uri: str) -> list[EmbeddedResource]:
        """Reads a resource."""
        return self._within(lambda: PLUGIN.find_resource(uri).read(self.context, uri))

    def prompt(self, name: str, **arguments: str) -> list[Message]:
        """Gets a prompt."""
        return self._within(lambda: PLUGIN.prompts[name].get(self.context, arguments))

    @property
    def chunk_texts(self) -> list[str]:
        return ["\n".join(one.text for one in chunk if isinstance(one, Text)) for chunk in self.chunks]

    def _within(self, work: Callable[[], Any]) -> Any:
        self._versions: dict[str, int] = {key: 1 for key in self.values}
        self._opened = False
        before = _host.use(_Fake(self))
        try:
            return work()
        finally:
            _host.use(before)


class _Fake:
    """Implements `host.Host`."""

    def __init__(self, test: Host) -> None:
        self.test = test

    def emit(self, content: list[Content]) -> int:
        if self.test.closed:
            raise Cancelled
        self.test.chunks.append(content)
        return len(self.test.chunks) - 1

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.test.reports.append((done, total, message))

    def log(self, level: str, message: str) -> None:
        self.test.records.append((level, message))

    def form(self, key: str | None, message: str, schema: str) -> str:
        self.test.asked.append({"key": key, "message": message, "schema": json.loads(schema)})
        return json.dumps(encoding.plain(_next(self.test.forms, "elicitation.form")))

    def sample(self, key: str | None, request: SampleRequest) -> SampleAnswer:
        self.test.asked.append(request)
        return SampleAnswer([Text(_next(self.test.samples, "sampling"))], "test", "endTurn")

    def list_agent_tools(self) -> list[str]:
        return sorted(self.test.agent_tools)

    def call_agent_tool(self, name: str, arguments: str, timeout: float | None, purpose: str | None, chunks: bool) -> AgentResult:
        tool = self.test.agent_tools.get(name)
        if tool is None:
            raise Denied("agent-tools", name)
        self.test.agent_calls.append((name, json.loads(arguments)))
        try:
            answer = tool(json.loads(arguments))
        except ToolError:
            raise
        except Exception as error:
            raise AgentError("failed", f"the agent tool broke: {error}") from error
        if isinstance(answer, AgentResult):
            return answer
        if isinstance(answer, str):
            return AgentResult([Text(answer)])
        return AgentResult([Text(encoding.dumps(answer))], encoding.dumps(answer))

    def state_get(self, key: str) -> Entry | None:
        value = self.test.values.get(key)
        return None if value is None else Entry(value, self.test._versions[key])

    def state_set(self, key: str, value: bytes) -> int:
        self.test.values[key] = value
        self.test._versions[key] = self.test._versions.get(key, 0) + 1
        return self.test._versions[key]

    def state_swap(self, key: str, version: int | None, value: bytes) -> int:
        found = self.state_get(key)
        if (found and found.version) != version:
            raise StateError("conflict", "somebody else changed it meanwhile")
        return self.state_set(key, value)

    def state_remove(self, key: str) -> bool:
        return self.test.values.pop(key, None) is not None

    def state_keys(self, prefix: str, after: str | None) -> list[str]:
        return sorted(key for key in self.test.values if key.startswith(prefix) and (after is None or key > after))[:100]

    def restored(self) -> bytes | None:
        self.test._opened = True
        return None if self.test.checkpoint is None else encoding.dumps(self.test.checkpoint).encode()

    def save(self, state: bytes) -> None:
        if not self.test._opened:
            raise CheckpointError("a call must ask for what was saved before it saves")
        self.test.saved.append(json.loads(state))

    def next_message(self) -> str | None:
        return self.test.messages.pop(0) if self.test.messages else None

    def receive(self, timeout: float | None) -> str | Ended | TimedOut:
        if self.test.messages:
            return self.test.messages.pop(0)
        return Ended() if timeout is None else TimedOut()

    def http(self, request: Request) -> Response:
        if self.test.http is None:
            raise Denied("http", request.target)
        self.test.requests.append(request)
        answer = self.test.http(request)
        cut = len(answer.body) > request.max_body
        return Response(answer.status, answer.headers, answer.body[: request.max_body], cut or answer.truncated)


def _next(answers: list[Any], ability: str) -> Any:
    if not answers:
        raise Unsupported(ability)
    answer = answers.pop(0)
    if isinstance(answer, Exception):
        raise answer
    return answer
