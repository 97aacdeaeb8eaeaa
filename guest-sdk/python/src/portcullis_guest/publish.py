"""Resources and prompts that a call leaves behind. Each belongs to the principal of the call, and goes when its time is up or the host
restarts. The manifest requests it, `publish = true`, and the operator grants it."""

from collections.abc import Sequence

from .content import Message, Role, Text
from .errors import PublishError
from .host import Attributes, PublishedPrompt, host


def put(
    path: str,
    body: str | bytes,
    *,
    title: str | None = None,
    description: str | None = None,
    mime_type: str | None = None,
    audience: Role | Sequence[Role] = (),
    priority: float | None = None,
    ttl: float | None = None,
) -> str:
    """Creates or replaces a resource, and returns its URI. `path` are words of letters, digits, `.`, `_` and `-` with `/` between
    them. It stays `ttl` seconds, by default as long as the operator allows."""
    roles = (audience,) if isinstance(audience, str) else tuple(audience)
    return host().put_resource(path, body, Attributes(title, description, mime_type, roles, priority, ttl))


def append(path: str, body: str | bytes) -> str:
    """Adds to a resource of the same kind, text or bytes, or creates one; returns its URI."""
    return host().append_resource(path, body)


def remove(path: str) -> None:
    """Removes a resource."""
    host().remove_resource(path)


def put_prompt(
    name: str,
    *messages: str | Message,
    arguments: Sequence[str] = (),
    title: str | None = None,
    description: str | None = None,
    ttl: float | None = None,
) -> None:
    """Creates or replaces a prompt of texts; `{{name}}` in them stands for the value of an argument. Clients see it as
    `<plugin>__<name>`."""
    texts: list[tuple[Role, str]] = []
    for message in messages:
        one = message if isinstance(message, Message) else Message.user(message)
        if not all(isinstance(piece, Text) for piece in one.content):
            raise PublishError("invalid", "cannot be published: the messages of a prompt are texts")
        texts += [(one.role, piece.text) for piece in one.content]
    host().put_prompt(PublishedPrompt(name, title, description, list(arguments), texts, ttl))


def remove_prompt(name: str) -> None:
    """Removes a prompt."""
    host().remove_prompt(name)
