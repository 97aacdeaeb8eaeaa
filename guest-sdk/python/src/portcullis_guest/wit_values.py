"""Values that cross to the host and back: what componentize-py binds, in the words of this package. In WebAssembly only."""

from __future__ import annotations

from typing import Any

from componentize_py_types import Err

from . import errors
from . import wit_types as wit
from .content import Audio, Content, EmbeddedResource, Image, ResourceLink, Text

ROLES = {"user": wit.Role.USER, "assistant": wit.Role.ASSISTANT}


def to_content(content: Content) -> tuple[Any, Any]:
    match content:
        case Text(text):
            data = wit.ContentData_Text(text)
        case Image(raw, mime_type):
            data = wit.ContentData_Image(wit.Blob(mime_type, raw))
        case Audio(raw, mime_type):
            data = wit.ContentData_Audio(wit.Blob(mime_type, raw))
        case ResourceLink(uri, name, title, description, mime_type, size):
            data = wit.ContentData_ResourceLink(wit.ResourceLink(uri, name, title, description, mime_type, size))
        case EmbeddedResource():
            data = wit.ContentData_Resource(to_embedded(content))
    annotations = None
    if content.roles or content.priority is not None or content.last_modified is not None:
        roles = [ROLES[role] for role in content.roles]
        annotations = wit.ContentAnnotations(roles, content.priority, content.last_modified)
    return data, annotations


def to_embedded(resource: EmbeddedResource) -> wit.EmbeddedResource:
    return wit.EmbeddedResource(resource.uri, resource.mime_type, to_body(resource.body))


def to_body(body: str | bytes) -> wit.ResourceBody:
    return wit.ResourceBody_Text(body) if isinstance(body, str) else wit.ResourceBody_Blob(body)


def from_content(content: tuple[Any, Any]) -> Content:
    data, annotations = content
    said: dict[str, Any] = {}
    if annotations:
        roles = tuple("user" if role == wit.Role.USER else "assistant" for role in annotations.audience)
        said = {"audience": roles, "priority": annotations.priority, "last_modified": annotations.last_modified}
    match data:
        case wit.ContentData_Text(value):
            return Text(value, **said)
        case wit.ContentData_Image(blob):
            return Image(blob.data, blob.mime_type, **said)
        case wit.ContentData_Audio(blob):
            return Audio(blob.data, blob.mime_type, **said)
        case wit.ContentData_ResourceLink(link):
            return ResourceLink(link.uri, link.name, link.title, link.description, link.mime_type, link.size, **said)
        case wit.ContentData_Resource(resource):
            return EmbeddedResource(resource.uri, resource.body.value, resource.mime_type, **said)
    raise TypeError(f"unknown content {data!r}")


def to_error(error: BaseException) -> Any:
    """What an exception that left a tool is to the host."""
    match error:
        case errors.InvalidArguments():
            return wit.ToolError_InvalidArguments(str(error))
        case errors.Cancelled():
            return wit.ToolError_Cancelled()
        case errors.Denied():
            return wit.ToolError_Denied(wit.Denial(error.capability, error.target, error.remedy))
        case errors.Exhausted():
            return wit.ToolError_Exhausted(wit.Exhaustion(wit.Budget[error.budget.upper()], error.limit))
        case errors.Unsupported():
            return wit.ToolError_Unsupported(error.what)
    return wit.ToolError_Failed(errors.text_of(error))


def denied(denial: wit.Denial) -> errors.Denied:
    return errors.Denied(denial.capability, denial.target, denial.remedy)


def exhausted(exhaustion: wit.Exhaustion) -> errors.Exhausted:
    return errors.Exhausted(exhaustion.budget.name.lower(), exhaustion.limit)


def made(function: Any, of: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Err as error:
        raise of(error.value) from None


def milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else max(1, round(seconds * 1_000))
