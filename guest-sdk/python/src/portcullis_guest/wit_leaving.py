"""What a call leaves behind, and accounts, of the real host. In WebAssembly only."""

from __future__ import annotations

from typing import Any

from wit_world.imports import connections, events, publish

from . import errors
from .host import Attributes, PublishedPrompt, Request
from .http import Response
from .wit_values import ROLES, denied, exhausted, made, milliseconds, to_body


def _publish_error(error: Any) -> errors.ToolError:
    match error:
        case publish.PublishError_Denied(denial):
            return denied(denial)
        case publish.PublishError_Exhausted(exhaustion):
            return exhausted(exhaustion)
        case publish.PublishError_Invalid(why):
            return errors.PublishError("invalid", f"cannot be published: {why}")
    return errors.PublishError("not-found", "nothing is published under this name")


def _event_error(error: Any) -> errors.ToolError:
    match error:
        case events.EventError_Denied(denial):
            return denied(denial)
        case events.EventError_Exhausted(exhaustion):
            return exhausted(exhaustion)
    return errors.EventError("invalid", f"the event cannot be sent: {error.value}")


def _account_error(error: Any) -> errors.ToolError:
    match error:
        case connections.ConnectionError_Denied(denial):
            return denied(denial)
        case connections.ConnectionError_Exhausted(exhaustion):
            return exhausted(exhaustion)
        case connections.ConnectionError_NotConnected():
            return errors.AccountError("not-connected", "the account is not connected")
        case connections.ConnectionError_Invalid(why):
            return errors.AccountError("invalid", f"the request cannot be sent: {why}")
        case connections.ConnectionError_Timeout(after):
            return errors.AccountError("timeout", f"no answer within {after} ms")
    return errors.AccountError("failed", f"the other server failed: {error.value}")


def put_resource(path: str, body: str | bytes, said: Attributes) -> str:
    roles = [ROLES[role] for role in said.audience]
    attributes = publish.Attributes(said.title, said.description, said.mime_type, roles, said.priority, milliseconds(said.ttl))
    return made(publish.put_resource, _publish_error, path, to_body(body), attributes)


def append_resource(path: str, body: str | bytes) -> str:
    return made(publish.append_resource, _publish_error, path, to_body(body))


def remove_resource(path: str) -> None:
    made(publish.remove_resource, _publish_error, path)


def put_prompt(prompt: PublishedPrompt) -> None:
    messages = [publish.PublishedMessage(ROLES[role], text) for role, text in prompt.messages]
    put = publish.PublishedPrompt(prompt.name, prompt.title, prompt.description, prompt.arguments, messages, milliseconds(prompt.ttl))
    made(publish.put_prompt, _publish_error, put)


def remove_prompt(name: str) -> None:
    made(publish.remove_prompt, _publish_error, name)


def emit_event(name: str, payload: str, once: str | None) -> bool:
    return made(events.emit, _event_error, name, payload, once)


def connected(name: str) -> bool:
    return made(connections.connected, _account_error, name)


def send(name: str, request: Request) -> Response:
    put = connections.Request(request.method, request.url, request.headers, request.body)
    answer = made(connections.send, _account_error, name, put)
    return Response(answer.status, answer.headers, answer.body)
