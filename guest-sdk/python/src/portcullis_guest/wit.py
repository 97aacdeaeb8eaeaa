"""The real host: what componentize-py binds, in the words of this package. Imported in WebAssembly only."""

from __future__ import annotations

from typing import Any

from componentize_py_types import Err
from wit_world.imports import agent_tools, checkpoint, client, log, output, progress, state, steering

from . import errors
from . import wit_types as wit
from .agent_tools import AgentResult
from .client import Message, SampleAnswer, SampleRequest
from .content import Audio, Content, EmbeddedResource, Image, ResourceLink, Text, ToolResult
from .host import Ended, Entry, Request, TimedOut

_ROLES = {"user": wit.Role.USER, "assistant": wit.Role.ASSISTANT}


def to_content(content: Content) -> wit.Content:
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
        roles = [_ROLES[role] for role in content.roles]
        annotations = wit.ContentAnnotations(roles, content.priority, content.last_modified)
    return wit.Content(data, annotations)


def to_embedded(resource: EmbeddedResource) -> wit.EmbeddedResource:
    body = resource.body
    made = wit.ResourceBody_Text(body) if isinstance(body, str) else wit.ResourceBody_Blob(body)
    return wit.EmbeddedResource(resource.uri, resource.mime_type, made)


def from_content(content: wit.Content) -> Content:
    said: dict[str, Any] = {}
    if content.annotations:
        roles = tuple("user" if role == wit.Role.USER else "assistant" for role in content.annotations.audience)
        said = {"audience": roles, "priority": content.annotations.priority, "last_modified": content.annotations.last_modified}
    match content.data:
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
    raise TypeError(f"unknown content {content.data!r}")


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


def _denied(denial: wit.Denial) -> errors.Denied:
    return errors.Denied(denial.capability, denial.target, denial.remedy)


def _exhausted(exhaustion: wit.Exhaustion) -> errors.Exhausted:
    return errors.Exhausted(exhaustion.budget.name.lower(), exhaustion.limit)


def _client_error(error: Any) -> errors.ToolError:
    match error:
        case client.ClientError_Unsupported(what):
            return errors.Unsupported(what)
        case client.ClientError_Denied(denial):
            return _denied(denial)
        case client.ClientError_Exhausted(exhaustion):
            return _exhausted(exhaustion)
        case client.ClientError_Cancelled():
            return errors.Cancelled()
        case client.ClientError_Invalid(why):
            return errors.ClientError("invalid", f"the question cannot be asked: {why}")
        case client.ClientError_Declined(why):
            return errors.ClientError("declined", f"the client's side declined the question: {why}")
        case client.ClientError_NotAnswered(why):
            return errors.ClientError("not-answered", f"the form was not filled in: {why}")
        case client.ClientError_Timeout(after):
            return errors.ClientError("timeout", f"the client did not answer within {after} ms")
    return errors.ClientError("failed", f"the client failed to answer: {error.value}")


def _agent_error(error: Any) -> errors.ToolError:
    match error:
        case agent_tools.AgentError_NotSupported(who):
            return errors.Unsupported(f"agent tools are not supported: {who}")
        case agent_tools.AgentError_Denied(denial):
            return _denied(denial)
        case agent_tools.AgentError_Exhausted(exhaustion):
            return _exhausted(exhaustion)
        case agent_tools.AgentError_Cancelled():
            return errors.Cancelled()
        case agent_tools.AgentError_UnknownTool(name):
            return errors.AgentError("unknown-tool", f"there is no agent tool `{name}`")
        case agent_tools.AgentError_Declined(why):
            return errors.AgentError("declined", f"declined: {why}")
        case agent_tools.AgentError_Cycle(name):
            return errors.AgentError("cycle", f"`{name}` is already being called in this chain")
        case agent_tools.AgentError_Timeout(after):
            return errors.AgentError("timeout", f"no answer within {after} ms")
        case agent_tools.AgentError_InvalidArguments(why):
            return errors.AgentError("invalid-arguments", f"invalid arguments: {why}")
        case agent_tools.AgentError_ToolError(result):
            said = ToolResult([from_content(one) for one in result.content])
            return errors.AgentError("tool-error", f"the agent tool failed: {said.text}")
    return errors.AgentError("failed", f"the agent tool broke: {error.value}")


def _state_error(error: Any) -> errors.ToolError:
    match error:
        case state.StateError_Denied(denial):
            return _denied(denial)
        case state.StateError_Exhausted(exhaustion):
            return _exhausted(exhaustion)
        case state.StateError_Invalid(why):
            return errors.StateError("invalid", f"it cannot be kept or read: {why}")
        case state.StateError_Conflict():
            return errors.StateError("conflict", "somebody else changed it meanwhile")
    return errors.StateError("failed", f"nothing is kept: {error.value}")


def _output_error(error: Any) -> errors.ToolError:
    match error:
        case output.OutputError_Closed():
            return errors.Cancelled()
        case output.OutputError_Exhausted(exhaustion):
            return _exhausted(exhaustion)
    return errors.OutputError(f"the content cannot be sent: {error.value}")


def _checkpoint_error(error: Any) -> errors.ToolError:
    if isinstance(error, checkpoint.CheckpointError_TooLarge):
        return errors.CheckpointError(f"a checkpoint has at most {error.value} bytes")
    return errors.CheckpointError("a call must ask for what was saved before it saves")


def _made(function: Any, of: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Err as error:
        raise of(error.value) from None


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else max(1, round(seconds * 1_000))


class WitHost:
    """Implements `host.Host`."""

    def emit(self, content: list[Content]) -> int:
        return _made(output.emit, _output_error, [to_content(one) for one in content])

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        progress.report(done, total, message)

    def log(self, level: str, message: str) -> None:
        log.write(log.Level[level.upper()], message)

    def form(self, key: str | None, message: str, schema: str) -> str:
        answer = _made(client.elicit_form, _client_error, key, client.Form(message, schema))
        if isinstance(answer, client.FormAnswer_Accepted):
            return answer.value
        raise errors.Declined() if isinstance(answer, client.FormAnswer_Declined) else errors.Dismissed()

    def sample(self, key: str | None, request: SampleRequest) -> SampleAnswer:
        asked = client.SampleRequest(
            [_sample_message(message) for message in request.messages],
            request.system_prompt,
            request.max_tokens,
            request.temperature,
            request.stop,
            client.ModelPreferences(request.models, None, None, None),
            [],
            None,
            request.purpose,
        )
        answer = _made(client.sample, _client_error, key, asked)
        return SampleAnswer([_from_sample(one) for one in answer.content], answer.model, answer.stop_reason)

    def list_agent_tools(self) -> list[str]:
        return [tool.name for tool in agent_tools.list_tools()]

    def call_agent_tool(self, name: str, arguments: str, timeout: float | None, purpose: str | None, chunks: bool) -> AgentResult:
        options = agent_tools.CallOptions(_milliseconds(timeout), purpose, chunks)
        result = _made(agent_tools.call, _agent_error, name, arguments, options)
        origin = type(result.origin).__name__.removeprefix("Origin_").lower()
        named = getattr(result.origin, "value", None)
        content = [from_content(one) for one in result.content]
        origin = f"{origin}:{named}" if named is not None else origin
        return AgentResult(content, result.structured, origin, result.private, result.edited)

    def state_get(self, key: str) -> Entry | None:
        found = _made(state.get, _state_error, key)
        return None if found is None else Entry(found.value, found.version)

    def state_set(self, key: str, value: bytes) -> int:
        return _made(state.set, _state_error, key, value)

    def state_swap(self, key: str, version: int | None, value: bytes) -> int:
        return _made(state.swap, _state_error, key, version, value)

    def state_remove(self, key: str) -> bool:
        return _made(state.remove, _state_error, key)

    def state_keys(self, prefix: str, after: str | None) -> list[str]:
        return _made(state.keys, _state_error, prefix, after)

    def restored(self) -> bytes | None:
        return checkpoint.restored()

    def save(self, state: bytes) -> None:
        _made(checkpoint.save, _checkpoint_error, state)

    def next_message(self) -> str | None:
        return steering.next()

    def receive(self, timeout: float | None) -> str | Ended | TimedOut:
        match steering.receive(_milliseconds(timeout)):
            case steering.Received_Message(message):
                return message
            case steering.Received_Ended():
                return Ended()
        return TimedOut()

    def http(self, request: Request) -> Any:
        # Only where it is bound: a plugin that requests no HTTP does not import it.
        from . import wit_http

        return wit_http.send(request)


def _sample_message(message: Message) -> client.SampleMessage:
    return client.SampleMessage(_ROLES[message.role], [_to_sample(one) for one in message.content])


def _to_sample(content: Content) -> Any:
    match content:
        case Text(text):
            return client.SampleContent_Text(text)
        case Image(raw, mime_type):
            return client.SampleContent_Image(wit.Blob(mime_type, raw))
        case Audio(raw, mime_type):
            return client.SampleContent_Audio(wit.Blob(mime_type, raw))
    raise errors.ClientError("invalid", "the question cannot be asked: a model takes texts, images and audio")


def _from_sample(content: Any) -> Content:
    match content:
        case client.SampleContent_Image(blob):
            return Image(blob.data, blob.mime_type)
        case client.SampleContent_Audio(blob):
            return Audio(blob.data, blob.mime_type)
        case client.SampleContent_Text(text):
            return Text(text)
    raise errors.ClientError("failed", "the client failed to answer: the model asks for a tool, and was offered none")
