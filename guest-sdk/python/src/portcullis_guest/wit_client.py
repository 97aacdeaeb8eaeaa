"""Questions to the client, by the real host. In WebAssembly only."""

from __future__ import annotations

from typing import Any

from wit_world.imports import client

from . import errors
from . import wit_types as wit
from .content import Audio, Image, Text
from .host import Abilities, FormQuestion, Root, UrlQuestion
from .sampling import SampleAnswer, SampleRequest, ToolOutcome, ToolUse
from .wit_values import ROLES, denied, exhausted, from_content, made, to_content


def _client_error(error: Any) -> errors.ToolError:
    match error:
        case client.ClientError_Unsupported(what):
            return errors.Unsupported(what)
        case client.ClientError_Denied(denial):
            return denied(denial)
        case client.ClientError_Exhausted(exhaustion):
            return exhausted(exhaustion)
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


def ask(key: str | None, question: Any) -> Any:
    put = _put(question)
    match put:
        case client.Question_Form(form):
            return _form(made(client.elicit_form, _client_error, key, form))
        case client.Question_Url(url):
            return _consent(made(client.elicit_url, _client_error, key, url))
        case client.Question_Sample(request):
            return _sampled(made(client.sample, _client_error, key, request), question)
    return _roots(made(client.list_roots, _client_error, key))


def ask_many(keyed: list[tuple[str, Any]]) -> list[Any]:
    answers = made(client.ask_many, _client_error, [client.KeyedQuestion(key, _put(question)) for key, question in keyed])
    return [_answer(answer, question) for answer, (_, question) in zip(answers, keyed, strict=True)]


def supported() -> Abilities:
    can = client.supported()
    return Abilities(can.form, can.url, can.sample, can.sample_tools, can.roots)


def _put(question: Any) -> Any:
    match question:
        case FormQuestion(message, schema):
            return client.Question_Form(client.Form(message, schema))
        case UrlQuestion(message, address, connection):
            target = client.UrlTarget_Address(address) if connection is None else client.UrlTarget_Connect(connection)
            return client.Question_Url(client.Url(message, target))
        case SampleRequest():
            return client.Question_Sample(_request(question))
    return client.Question_Roots()


def _request(request: SampleRequest) -> client.SampleRequest:
    return client.SampleRequest(
        [client.SampleMessage(ROLES[message.role], [_to_sample(one) for one in message.content]) for message in request.messages],
        request.system_prompt,
        request.max_tokens,
        request.temperature,
        request.stop,
        client.ModelPreferences(request.models, request.cost, request.speed, request.intelligence),
        [client.SampleTool(tool.name, tool.description, tool.input_schema) for tool in request.tools],
        client.ToolChoice[request.tool_choice.upper()] if request.tool_choice else None,
        request.purpose,
    )


def _answer(answer: Any, question: Any) -> Any:
    match answer:
        case client.Answer_Form(form):
            return _form(form)
        case client.Answer_Url(consent):
            return _consent(consent)
        case client.Answer_Sample(said):
            return _sampled(said, question)
    return _roots(answer.value)


def _form(answer: Any) -> Any:
    if isinstance(answer, client.FormAnswer_Accepted):
        return answer.value
    return errors.Declined() if isinstance(answer, client.FormAnswer_Declined) else errors.Dismissed()


def _consent(consent: client.Consent) -> Any:
    if consent == client.Consent.ACCEPTED:
        return None
    return errors.Declined() if consent == client.Consent.DECLINED else errors.Dismissed()


def _sampled(answer: client.SampleAnswer, request: SampleRequest) -> SampleAnswer:
    content = [_from_sample(one) for one in answer.content]
    return SampleAnswer(content, answer.model, answer.stop_reason, request.tools)


def _roots(roots: list[client.Root]) -> list[Root]:
    return [Root(one.uri, one.name) for one in roots]


def _to_sample(content: Any) -> Any:
    match content:
        case Text(text):
            return client.SampleContent_Text(text)
        case Image(raw, mime_type):
            return client.SampleContent_Image(wit.Blob(mime_type, raw))
        case Audio(raw, mime_type):
            return client.SampleContent_Audio(wit.Blob(mime_type, raw))
        case ToolUse(id, name, given):
            return client.SampleContent_ToolUse(client.ToolUse(id, name, given))
        case ToolOutcome(id, said, is_error, structured):
            outcome = client.ToolOutcome(id, [to_content(one) for one in said], structured, is_error)
            return client.SampleContent_ToolResult(outcome)
    raise errors.ClientError("invalid", "the question cannot be asked: a model takes texts, images and audio")


def _from_sample(content: Any) -> Any:
    match content:
        case client.SampleContent_Text(text):
            return Text(text)
        case client.SampleContent_Image(blob):
            return Image(blob.data, blob.mime_type)
        case client.SampleContent_Audio(blob):
            return Audio(blob.data, blob.mime_type)
        case client.SampleContent_ToolUse(use):
            return ToolUse(use.id, use.name, use.input)
    said = [from_content(one) for one in content.value.content]
    return ToolOutcome(content.value.id, said, content.value.is_error, content.value.structured)
