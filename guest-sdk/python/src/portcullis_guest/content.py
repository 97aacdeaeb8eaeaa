"""Pieces of content in results and in chunks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Role: TypeAlias = Literal["user", "assistant"]


@dataclass(frozen=True, kw_only=True)
class Annotated:
    """Hints about a piece of content. Nobody named means everybody; `priority` is from 0.0 to 1.0."""

    audience: tuple[Role, ...] | Role = ()
    priority: float | None = None
    last_modified: str | None = None

    @property
    def roles(self) -> tuple[Role, ...]:
        return (self.audience,) if isinstance(self.audience, str) else tuple(self.audience)


@dataclass(frozen=True)
class Text(Annotated):
    text: str


@dataclass(frozen=True)
class Image(Annotated):
    """Such as `Image(data, "image/png")`."""

    data: bytes
    mime_type: str


@dataclass(frozen=True)
class Audio(Annotated):
    """Such as `Audio(data, "audio/wav")`."""

    data: bytes
    mime_type: str


@dataclass(frozen=True)
class ResourceLink(Annotated):
    """A reference to a resource that the client may read."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None


@dataclass(frozen=True)
class EmbeddedResource(Annotated):
    """A resource with its content: text or bytes."""

    uri: str
    body: str | bytes
    mime_type: str | None = None


Content: TypeAlias = Text | Image | Audio | ResourceLink | EmbeddedResource
Pieces: TypeAlias = "str | Content"


@dataclass
class ToolResult:
    """A result in full. `structured` is JSON text; an error is one that the tool itself reports."""

    content: list[Content] = field(default_factory=list)
    structured: str | None = None
    is_error: bool = False

    @classmethod
    def error(cls, *content: str | Content) -> ToolResult:
        """A failure with content of any kind."""
        return cls([piece(one) for one in content], is_error=True)

    @property
    def text(self) -> str:
        """All texts of the content, joined by newlines."""
        return "\n".join(one.text for one in self.content if isinstance(one, Text))


def piece(value: str | Content) -> Content:
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, Annotated):
        return value
    raise TypeError(f"{value!r} is not content; send a string, or a Text, Image, Audio, ResourceLink or EmbeddedResource")


@dataclass
class Message:
    """A message of a prompt or to the model."""

    role: Role
    content: list[Any] = field(default_factory=list)

    @classmethod
    def user(cls, *content: Pieces) -> Message:
        return cls("user", [piece(one) for one in content])

    @classmethod
    def assistant(cls, *content: Pieces) -> Message:
        return cls("assistant", [piece(one) for one in content])
