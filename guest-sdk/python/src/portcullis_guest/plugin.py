"""What a plugin offers: functions, by decorators."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_origin
from urllib.parse import unquote_to_bytes

from . import docs, encoding, reading, schema
from .completion import Complete, Completion, Typed
from .content import Annotated, EmbeddedResource, Message, Pieces, Text, ToolResult, piece
from .context import Context
from .errors import InvalidArguments, NotFound

_Function = TypeVar("_Function", bound=Callable[..., Any])
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

Execution = Literal["inline", "may-run-long", "task-only"]


@dataclass
class Offer:
    """A function with what was said of it."""

    function: Callable[..., Any]
    name: str
    title: str | None
    description: str
    parameters: list[reading.Field]
    wants_context: bool
    returns: Any

    def call(self, context: Context, arguments: dict[str, Any]) -> Any:
        values = reading.read_fields(self.parameters, arguments)
        return self.function(context, **values) if self.wants_context else self.function(**values)

    @property
    def completes(self) -> dict[str, Complete]:
        said = {one.name: reading.split(one.hint)[1] for one in self.parameters}
        return {name: word for name, words in said.items() for word in words if isinstance(word, Complete)}


@dataclass
class Tool(Offer):
    annotations: dict[str, bool | None] = field(default_factory=dict)
    execution: Execution = "inline"
    input_schema: str = ""
    output_schema: str | None = None

    def run(self, context: Context, arguments: str) -> ToolResult:
        return result(self.call(context, encoding.loads(arguments)))


@dataclass
class Resource(Offer):
    """A resource, or by its template several."""

    uri: str = ""
    mime_type: str | None = None
    pattern: re.Pattern[str] | None = None

    def read(self, context: Context, uri: str) -> list[EmbeddedResource]:
        return contents(self.call(context, self.variables(uri) or {}), uri, self.mime_type)

    def variables(self, uri: str) -> dict[str, Any] | None:
        """The values of the template's variables; None if the URI does not match."""
        if self.pattern is None:
            return {} if uri == self.uri else None
        match = self.pattern.fullmatch(uri)
        try:
            return match and {name: _decoded(value) for name, value in match.groupdict().items()}
        except ValueError:
            return None


@dataclass
class Prompt(Offer):
    def get(self, context: Context, arguments: dict[str, str]) -> list[Message]:
        return messages(self.call(context, arguments))


@dataclass
class Plugin:
    """All that was decorated, in order."""

    tools: dict[str, Tool] = field(default_factory=dict)
    resources: dict[str, Resource] = field(default_factory=dict)
    templates: dict[str, Resource] = field(default_factory=dict)
    prompts: dict[str, Prompt] = field(default_factory=dict)
    # The function marked @reconcile.
    finder: Callable[[Any], Any] | None = None

    @property
    def exports(self) -> list[str]:
        """The interfaces of a component of this plugin."""
        completes = any(one.completes for one in [*self.templates.values(), *self.prompts.values()])
        offers = {
            "tools": self.tools,
            "resources": self.resources or self.templates,
            "prompts": self.prompts,
            "completions": completes,
            "reconcile": self.finder,
        }
        return [name for name, offered in offers.items() if offered]

    def complete(self, kind: str, name: str, argument: str, typed: Typed) -> Completion:
        """Suggestions for an argument of a `prompt`, or of a `resource template`."""
        found = (self.prompts if kind == "prompt" else self.templates).get(name)
        if found is None:
            raise InvalidArguments(f"this plugin has no {kind} `{name}`")
        suggest = found.completes.get(argument)
        return suggest(typed) if suggest else Completion([], 0)

    def add(self, kind: dict[str, Any], key: str, offer: Offer) -> None:
        if key in kind:
            raise TypeError(f"{offer.function.__name__}: there is `{key}` already")
        kind[key] = offer
        offer.function.__portcullis__ = offer  # type: ignore[attr-defined]

    def find_resource(self, uri: str) -> Resource:
        found = self.resources.get(uri) or next((one for one in self.templates.values() if one.variables(uri) is not None), None)
        if found is None:
            raise NotFound
        return found


PLUGIN = Plugin()


def tool(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    execution: Execution = "inline",
) -> Any:
    """Makes a function a tool. Its parameters become the input schema, its docstring the description, and what it returns the
    result: a dataclass or a dict is structured content, a string or content is itself, None is nothing."""

    def make(function: _Function) -> _Function:
        base = offer(function, name, title, description)
        made = Tool(
            **vars(base),
            annotations={"read_only": read_only, "destructive": destructive, "idempotent": idempotent, "open_world": open_world},
            execution=execution,
        )
        properties = schema.of_fields(made.parameters)
        made.input_schema = encoding.dumps(properties | {"additionalProperties": False})
        made.output_schema = _output_schema(made)
        PLUGIN.add(PLUGIN.tools, made.name, made)
        return function

    return make if function is None else make(function)


def resource(
    uri: str, *, name: str | None = None, title: str | None = None, description: str | None = None, mime_type: str | None = None
) -> Callable[[_Function], _Function]:
    """Makes a function without parameters a resource: text, bytes, or what is written as JSON."""

    def make(function: _Function) -> _Function:
        made = Resource(**vars(offer(function, name, title, description)), uri=uri, mime_type=mime_type)
        if made.parameters:
            raise TypeError(f"{function.__name__}: a resource has no parameters; a resource_template has")
        PLUGIN.add(PLUGIN.resources, uri, made)
        return function

    return make


def resource_template(
    uri_template: str,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    mime_type: str | None = None,
) -> Callable[[_Function], _Function]:
    """Makes a function the resources of a pattern such as `guide://city/{name}`; the variables are its parameters. None, or raising
    NotFound, says that there is no such resource."""

    def make(function: _Function) -> _Function:
        made = Resource(**vars(offer(function, name, title, description)), uri=uri_template, mime_type=mime_type)
        pieces = re.split(r"\{(\w+)\}", uri_template)
        if pieces[1::2] != [one.name for one in made.parameters]:
            raise TypeError(f"{function.__name__}: the parameters must be the variables of the template, {pieces[1::2]}")
        pattern = "".join(re.escape(text) if at % 2 == 0 else f"(?P<{text}>[^/?#]+?)" for at, text in enumerate(pieces))
        made.pattern = re.compile(pattern)
        PLUGIN.add(PLUGIN.templates, uri_template, made)
        return function

    return make


def prompt(function: Any = None, /, *, name: str | None = None, title: str | None = None, description: str | None = None) -> Any:
    """Makes a function a prompt. Its parameters are texts, or texts or None; it returns a string or messages."""

    def make(function: _Function) -> _Function:
        made = Prompt(**vars(offer(function, name, title, description)))
        for parameter in made.parameters:
            if reading.optional(reading.split(parameter.hint)[0])[0] is not str:
                raise TypeError(f"{function.__name__}: `{parameter.name}` of a prompt must be str, or str | None")
        PLUGIN.add(PLUGIN.prompts, made.name, made)
        return function

    return make if function is None else make(function)


def offer(function: Callable[..., Any], name: str | None, title: str | None, description: str | None) -> Offer:
    """A function with what its signature and its docstring say."""
    where = function.__name__
    if inspect.iscoroutinefunction(function):
        raise TypeError(f"{where}: take a plain function; whatever waits, waits in place")
    said = docs.parse(function.__doc__)
    description = description or said.description
    if not description:
        raise TypeError(f"{where}: a docstring is needed; it tells clients what this is")
    name = name or where
    if not _NAME.fullmatch(name):
        raise TypeError(f"{where}: `{name}` is not a name; write 1 to 64 of A-Z a-z 0-9 _ -")
    hints = typing.get_type_hints(function, include_extras=True)
    parameters, wants_context = [], False
    for at, parameter in enumerate(inspect.signature(function).parameters.values()):
        hint = hints.get(parameter.name)
        if at == 0 and hint is Context:
            wants_context = True
            continue
        if hint is None or parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{where}: `{parameter.name}` needs a type, and a name of its own")
        parameters.append(reading.Field(parameter.name, hint, parameter.default, said.entries.get(parameter.name)))
    return Offer(function, name, title, description, parameters, wants_context, hints.get("return"))


def _output_schema(made: Tool) -> str | None:
    """Only objects are structured content."""
    hint = reading.split(made.returns)[0]
    if hint in (None, type(None), str, ToolResult, Any) or get_origin(hint) is list or inspect.isclass(hint) and issubclass(hint, Annotated):
        return None
    try:
        found = schema.of(hint, output=True, where=f"{made.function.__name__} returns")
    except TypeError:
        if _is_content(hint):
            return None
        raise
    return encoding.dumps(found) if found.get("type") == "object" else None


def _is_content(hint: Any) -> bool:
    return all(one is str or inspect.isclass(one) and issubclass(one, Annotated) for one in getattr(hint, "__args__", (hint,)))


def result(value: Any) -> ToolResult:
    """What a function returned, as a result."""
    if value is None:
        return ToolResult()
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, (str, Annotated)):
        return ToolResult([piece(value)])
    if isinstance(value, (list, tuple)) and value and all(isinstance(one, Annotated) for one in value):
        return ToolResult(list(value))
    text = encoding.dumps(value)
    return ToolResult([Text(text)], text if text.startswith("{") else None)


def contents(value: Any, uri: str, mime_type: str | None) -> list[EmbeddedResource]:
    if value is None:
        raise NotFound
    if isinstance(value, EmbeddedResource):
        return [value]
    if isinstance(value, list) and value and all(isinstance(one, EmbeddedResource) for one in value):
        return value
    if isinstance(value, (str, bytes)):
        return [EmbeddedResource(uri, value, mime_type)]
    return [EmbeddedResource(uri, encoding.dumps(value), mime_type or "application/json")]


def messages(value: str | Message | list[Message] | Pieces) -> list[Message]:
    if isinstance(value, list):
        return value
    return [value if isinstance(value, Message) else Message("user", [piece(value)])]


def _decoded(text: str) -> str:
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise ValueError(text)
    return unquote_to_bytes(text).decode()



