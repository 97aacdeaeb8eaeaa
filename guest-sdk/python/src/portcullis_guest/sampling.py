"""Requests to a model, which may use tools, and its answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from . import encoding, plugin, reading, schema
from .content import Content, Message, Pieces, Text, piece
from .errors import Cancelled, ClientError, Denied, Exhausted, InvalidArguments, text_of

ToolChoice = Literal["auto", "required", "none"]


@dataclass(frozen=True)
class ToolUse:
    """The model asks for a tool. `input` is JSON text, which the model may have got wrong."""

    id: str
    name: str
    input: str

    def arguments(self, kind: Any = Any) -> Any:
        """The input; with a type such as a dataclass, read as that."""
        try:
            return reading.read(kind, encoding.loads(self.input), "the input")
        except (ValueError, InvalidArguments) as error:
            raise ClientError("unexpected-answer", f"the client's answer is not what was expected: {error}") from error

    def succeeded(self, *content: Pieces) -> ToolOutcome:
        return ToolOutcome(self.id, [piece(one) for one in content])

    def failed(self, why: object) -> ToolOutcome:
        """The model is told why."""
        return ToolOutcome(self.id, [Text(str(why))], is_error=True)


@dataclass(frozen=True)
class ToolOutcome:
    """What came of a use. `structured` is JSON text."""

    id: str
    content: list[Content]
    is_error: bool = False
    structured: str | None = None


@dataclass(frozen=True)
class SampleTool:
    """A tool that the model may ask for. Of a function it is made by `sample`; made by hand, its uses are answered by hand."""

    name: str
    description: str | None
    input_schema: str
    function: Callable[..., Any] | None = None

    @classmethod
    def of(cls, function: Callable[..., Any]) -> SampleTool:
        offer = plugin.offer(function, None, None, None)
        if offer.wants_context:
            raise TypeError(f"{offer.name}: a tool for the model is told nothing of the call")
        return cls(offer.name, offer.description, encoding.dumps(schema.of_fields(offer.parameters)), _runner(offer))


def _runner(offer: plugin.Offer) -> Callable[[Any], Any]:
    return lambda given: offer.function(**reading.read_fields(offer.parameters, given))


@dataclass
class SampleRequest:
    messages: list[Message]
    system_prompt: str | None = None
    max_tokens: int = 1_000
    temperature: float | None = None
    stop: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    purpose: str | None = None
    cost: float | None = None
    speed: float | None = None
    intelligence: float | None = None
    tools: list[SampleTool] = field(default_factory=list)
    tool_choice: ToolChoice | None = None


@dataclass
class SampleAnswer:
    """What the model said, or the tools that it asks for."""

    content: list[Any]
    model: str
    stop_reason: str | None = None
    offered: list[SampleTool] = field(default_factory=list, repr=False)

    @property
    def text(self) -> str:
        return "\n".join(one.text for one in self.content if isinstance(one, Text))

    @property
    def tool_uses(self) -> list[ToolUse]:
        """The tools that the model asks for; empty when it has answered."""
        return [one for one in self.content if isinstance(one, ToolUse)]

    @property
    def message(self) -> Message:
        """The answer as a message of the conversation that goes on."""
        return Message("assistant", self.content)

    def run_tools(self) -> Message:
        """Runs the functions that the model asks for. The message tells it what came of them, failures too."""
        return outcomes(self._run(use) for use in self.tool_uses)

    def _run(self, use: ToolUse) -> ToolOutcome:
        function = next((tool.function for tool in self.offered if tool.name == use.name), None)
        if function is None:
            return use.failed(f"there is no tool named {use.name}")
        try:
            result = plugin.result(function(use.arguments(dict[str, Any])))
        except (Cancelled, Denied, Exhausted):
            # These end the call: another try of the model's changes nothing.
            raise
        except Exception as error:
            return use.failed(text_of(error))
        return ToolOutcome(use.id, result.content, result.is_error, result.structured)


def outcomes(these: Any) -> Message:
    """The message that tells the model what came of its uses."""
    return Message("user", list(these))


def request(
    messages: Pieces | Message | list[Message],
    *,
    system_prompt: str | None = None,
    max_tokens: int = 1_000,
    temperature: float | None = None,
    stop: Sequence[str] = (),
    models: Sequence[str] = (),
    cost: float | None = None,
    speed: float | None = None,
    intelligence: float | None = None,
    tools: Sequence[Callable[..., Any] | SampleTool] = (),
    tool_choice: ToolChoice | None = None,
    purpose: str | None = None,
) -> SampleRequest:
    these = messages if isinstance(messages, list) else [messages if isinstance(messages, Message) else Message.user(messages)]
    offered = [tool if isinstance(tool, SampleTool) else SampleTool.of(tool) for tool in tools]
    return SampleRequest(
        list(these), system_prompt, max_tokens, temperature, list(stop), list(models), purpose, cost, speed, intelligence, offered, tool_choice
    )
