"""A fake host, which records what a tool sends and answers what it asks. Tests run natively, without WebAssembly."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import encoding, sockets
from . import host as _host
from .agent_tools import AgentResult
from .completion import Completion, Typed
from .content import Content, EmbeddedResource, Message, Text, ToolResult
from .context import Context
from .doubt import Doubt, Verdict
from .errors import (
    AccountError,
    AgentError,
    Cancelled,
    CheckpointError,
    Declined,
    Denied,
    Dismissed,
    PublishError,
    StateError,
    ToolError,
    Unsupported,
)
from .host import Abilities, Attributes, Ended, Entry, FormQuestion, PublishedPrompt, Request, Root, TimedOut, UrlQuestion
from .http import Response
from .plugin import PLUGIN
from .sampling import SampleAnswer, SampleRequest, ToolUse

# Answers of a user who does not fill in a form.
DECLINED, DISMISSED = Declined(), Dismissed()


@dataclass
class Host:
    """What the tool finds. `forms`, `samples` and `pages` answer its questions in order: a dict; a text, a ToolUse or a list of these;
    True; or an exception. `agent_tools` are functions of the arguments, `http` one of the request, `connections` those of requests by
    the name of a connected account (None: not connected yet); without one of these, it is denied."""

    forms: list[Mapping[str, Any] | Exception] = field(default_factory=list)
    samples: list[str | ToolUse | list[str | ToolUse] | Exception] = field(default_factory=list)
    pages: list[bool | Exception] = field(default_factory=list)
    roots: list[Root] | None = None
    connections: dict[str, Callable[[Request], Response] | None] = field(default_factory=dict)
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
    # What it left behind: bodies and attributes by path, prompts by name, names and payloads of events.
    resources: dict[str, tuple[str | bytes, Attributes]] = field(default_factory=dict)
    prompts: dict[str, PublishedPrompt] = field(default_factory=dict)
    events: list[tuple[str, Any]] = field(default_factory=list)
    account_requests: list[tuple[str, Request]] = field(default_factory=list)
    fuel: int | None = 1_000_000_000
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

    def complete(self, offer: str, argument: str, value: str, **others: str) -> Completion:
        """Suggestions for an argument of a prompt, or for a variable of a template; `others` are filled in already."""
        kind = "resource template" if offer in PLUGIN.templates else "prompt"
        return self._within(lambda: PLUGIN.complete(kind, offer, argument, Typed(value, others, self.context)))

    def reconcile(self, tool: str, effect: Any, **arguments: Any) -> Verdict:
        """Asks what has become of an effect of a tool."""
        doubt = Doubt(tool, effect, json.dumps(encoding.plain(arguments)), self.context)
        return self._within(lambda: PLUGIN.finder(doubt) if PLUGIN.finder else None)

    @property
    def chunk_texts(self) -> list[str]:
        return ["\n".join(one.text for one in chunk if isinstance(one, Text)) for chunk in self.chunks]

    def _within(self, work: Callable[[], Any]) -> Any:
        self._versions: dict[str, int] = {key: 1 for key in self.values}
        self._opened = False
        before = _host.use(_Fake(self))
        try:
            # As in a component: libraries find no other way to a server.
            with sockets.installed():
                return work()
        finally:
            _host.use(before)


class _Fake:
    """Implements `host.Host`."""

    def __init__(self, test: Host) -> None:
        self.test = test
        self._once: set[tuple[str, str | None]] = set()
        self._connected: set[str] = set()

    def emit(self, content: list[Content]) -> int:
        if self.test.closed:
            raise Cancelled
        self.test.chunks.append(content)
        return len(self.test.chunks) - 1

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.test.reports.append((done, total, message))

    def log(self, level: str, message: str) -> None:
        self.test.records.append((level, message))

    def ask(self, key: str | None, question: Any) -> Any:
        match question:
            case FormQuestion(message, schema):
                self.test.asked.append({"key": key, "message": message, "schema": json.loads(schema)})
                answer = _next(self.test.forms, "elicitation.form")
                return answer if isinstance(answer, Exception) else json.dumps(encoding.plain(answer))
            case UrlQuestion(message, address, connection):
                self.test.asked.append({"key": key, "message": message, "address": address, "connection": connection})
                answer = _next(self.test.pages, "elicitation.url")
                if connection is not None and answer is True:
                    self.test.connections.setdefault(connection, None)
                    self._connected.add(connection)
                return None if answer is True else answer if isinstance(answer, Exception) else Declined()
            case SampleRequest():
                self.test.asked.append(question)
                answer = _next(self.test.samples, "sampling")
                pieces = answer if isinstance(answer, list) else [answer]
                content = [Text(one) if isinstance(one, str) else one for one in pieces]
                reason = "toolUse" if any(isinstance(one, ToolUse) for one in content) else "endTurn"
                return SampleAnswer(content, "test", reason, question.tools)
        self.test.asked.append({"key": key, "roots": True})
        if self.test.roots is None:
            raise Unsupported("roots")
        return list(self.test.roots)

    def ask_many(self, keyed: list[tuple[str, Any]]) -> list[Any]:
        if len({key for key, _ in keyed}) < len(keyed):
            raise AssertionError("two questions that are asked at once have the same key")
        return [self.ask(key, question) for key, question in keyed]

    def supported(self) -> Abilities:
        test = self.test
        return Abilities(bool(test.forms), bool(test.pages), bool(test.samples), bool(test.samples), test.roots is not None)

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

    def call_agent_tools(self, calls: list[tuple[Any, ...]]) -> list[Any]:
        def result(call: tuple[Any, ...]) -> Any:
            try:
                return self.call_agent_tool(*call)
            except ToolError as error:
                return error

        return [result(call) for call in calls]

    def put_resource(self, path: str, body: str | bytes, attributes: Attributes) -> str:
        self.test.resources[path] = (body, attributes)
        return f"portcullis://published/test/{path}"

    def append_resource(self, path: str, body: str | bytes) -> str:
        before, attributes = self.test.resources.get(path, (type(body)(), Attributes()))
        if type(before) is not type(body):
            raise PublishError("invalid", f"cannot be published: `{path}` has another kind of body")
        return self.put_resource(path, before + body, attributes)  # type: ignore[operator]

    def remove_resource(self, path: str) -> None:
        if self.test.resources.pop(path, None) is None:
            raise PublishError("not-found", "nothing is published under this name")

    def put_prompt(self, prompt: PublishedPrompt) -> None:
        self.test.prompts[prompt.name] = prompt

    def remove_prompt(self, name: str) -> None:
        if self.test.prompts.pop(name, None) is None:
            raise PublishError("not-found", "nothing is published under this name")

    def emit_event(self, name: str, payload: str, once: str | None) -> bool:
        if once is not None and (name, once) in self._once:
            return False
        self._once.add((name, once))
        self.test.events.append((name, json.loads(payload)))
        return True

    def connected(self, name: str) -> bool:
        if name not in self.test.connections:
            raise Denied("connections", name)
        return self.test.connections[name] is not None or name in self._connected

    def send(self, name: str, request: Request) -> Response:
        if not self.connected(name):
            raise AccountError("not-connected", "the account is not connected")
        self.test.account_requests.append((name, request))
        answer = self.test.connections[name]
        return answer(request) if answer else Response(404, [], b"")

    def fuel_left(self) -> int | None:
        return self.test.fuel

    def deadline_left(self) -> int:
        return self.test.context.deadline_ms

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
    # A user's no is an answer.
    if isinstance(answer, Exception) and not isinstance(answer, (Declined, Dismissed)):
        raise answer
    return answer
