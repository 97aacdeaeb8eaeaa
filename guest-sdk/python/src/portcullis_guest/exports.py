"""The component's exports: componentize-py finds these classes by name. Imported in WebAssembly only, by the
interpreter that `portcullis build` starts."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from typing import Any

from componentize_py_types import Err
from wit_world.imports import log

from . import content, encoding, host, http, reading, schema
from . import wit_types as wit
from .agent_tools import Call
from .completion import Typed
from .context import Context
from .doubt import Doubt, NotDone
from .errors import InvalidArguments, NotFound, ToolError
from .plugin import PLUGIN, Prompt, Resource, Tool, result
from .wit import WitHost
from .wit_values import ROLES, to_content, to_embedded, to_error

host.use(WitHost())

# For functions that do not ask for it.
_NO_CONTEXT = Context()


# The records `call-context`, `tool-result` and `content` are tuples of their fields: for this package, `portcullis build` writes them as
# tuples, which are made faster than objects.
def _context(ctx: tuple[Any, ...]) -> Context:
    """Its fields are the first ones of the WIT's record, in its order."""
    return Context(*ctx[:6])


def _run(function: Callable[..., Any], *arguments: Any, failed: Callable[[Any], Any] = lambda error: error) -> Any:
    try:
        return function(*arguments)
    except NotFound:
        raise
    except Exception as error:
        raise Err(failed(_error(error))) from None


def _error(error: Exception) -> Any:
    if not isinstance(error, ToolError):
        # The model gets the text; where it happened is for whoever mends it.
        log.write(log.Level.DEBUG, "".join(traceback.format_exception(error)))
    return to_error(error)


class Tools:
    def list_tools(self) -> list[wit.Tool]:
        return [_tool(tool) for tool in PLUGIN.tools.values()]

    def call_tool(self, ctx: tuple[Any, ...], name: str, arguments: str) -> tuple[Any, ...]:
        try:
            tool = PLUGIN.tools.get(name)
            if tool is None:
                raise InvalidArguments(f"there is no tool named {name}")
            value = tool.call(_context(ctx) if tool.wants_context else _NO_CONTEXT, encoding.loads(arguments))
            if type(value) is str:
                # Most tools return a text. Each object on the way takes about as long as a small tool computes.
                return [(wit.ContentData_Text(value), None)], None, False
            return _result(result(value))
        except Exception as error:
            raise Err(_error(error)) from None


def _result(result: content.ToolResult) -> tuple[Any, ...]:
    return [to_content(one) for one in result.content], result.structured, result.is_error


def _tool(tool: Tool) -> wit.Tool:
    return wit.Tool(
        tool.name,
        tool.title,
        tool.description,
        tool.input_schema,
        tool.output_schema,
        wit.ToolAnnotations(**tool.annotations),
        wit.Execution[tool.execution.upper().replace("-", "_")],
        [],
    )


class Resources:
    def list_resources(self) -> list[Any]:
        from wit_world.exports import resources

        def info(one: Resource) -> Any:
            return resources.ResourceInfo(one.uri, one.name, one.title, one.description, one.mime_type, None, None, [])

        return [info(one) for one in PLUGIN.resources.values()]

    def list_templates(self) -> list[Any]:
        from wit_world.exports import resources

        def info(one: Resource) -> Any:
            return resources.ResourceTemplate(one.uri, one.name, one.title, one.description, one.mime_type, None, [])

        return [info(one) for one in PLUGIN.templates.values()]

    def read_resource(self, ctx: tuple[Any, ...], uri: str) -> list[wit.EmbeddedResource]:
        from wit_world.exports import resources

        def run() -> list[wit.EmbeddedResource]:
            try:
                read: list[content.EmbeddedResource] = PLUGIN.find_resource(uri).read(_context(ctx), uri)
            except NotFound:
                raise Err(resources.ReadError_NotFound()) from None
            return [to_embedded(one) for one in read]

        try:
            return run()
        except Err:
            raise
        except Exception as error:
            return _run(_raise, error, failed=resources.ReadError_Failed)


def _raise(error: Exception) -> None:
    raise error


class Prompts:
    def list_prompts(self) -> list[Any]:
        from wit_world.exports import prompts

        def argument(one: reading.Field) -> Any:
            required = not (one.is_optional or one.has_default)
            _, said = reading.split(one.hint)
            title = next((word.text for word in said if isinstance(word, schema.Title)), None)
            description = next((word for word in said if isinstance(word, str)), one.description)
            return prompts.PromptArgument(one.name, title, description, required)

        def info(one: Prompt) -> Any:
            return prompts.Prompt(one.name, one.title, one.description, [argument(each) for each in one.parameters], [])

        return [info(one) for one in PLUGIN.prompts.values()]

    def get_prompt(self, ctx: tuple[Any, ...], name: str, arguments: list[tuple[str, str]]) -> Any:
        from wit_world.exports import prompts

        def run() -> Any:
            if name not in PLUGIN.prompts:
                raise InvalidArguments(f"there is no prompt named {name}")
            said = PLUGIN.prompts[name].get(_context(ctx), dict(arguments))
            messages = [prompts.PromptMessage(ROLES[one.role], to_content(piece)) for one in said for piece in one.content]
            return prompts.PromptResult(None, messages)

        return _run(run)


class Completions:
    def complete(self, ctx: tuple[Any, ...], reference: Any, argument: str, value: str, context: list[tuple[str, str]]) -> Any:
        from wit_world.exports import completions

        def run() -> Any:
            kind = "prompt" if isinstance(reference, completions.Reference_Prompt) else "resource template"
            typed = Typed(value, dict(context), _context(ctx))
            found = PLUGIN.complete(kind, reference.value, argument, typed)
            return completions.Completion(found.values, found.total, found.has_more)

        return _run(run)


class Reconcile:
    def reconcile(self, ctx: tuple[Any, ...], name: str, arguments: str, effect: Any) -> Any:
        from wit_world.exports import reconcile

        match effect.effect:
            case reconcile.Effect_Http(asked):
                headers = [(key, value.decode(errors="replace")) for key, value in asked.headers]
                made: Any = host.Request(asked.method, asked.url, headers)
            case reconcile.Effect_AgentTool(call):
                made = Call(call.name, json.loads(call.arguments))
            case _:
                made = None
        try:
            verdict = PLUGIN.finder(Doubt(name, made, arguments, _context(ctx), effect.step, effect.name))  # type: ignore[misc]
        except Exception as error:
            # Who fails does not know. Why is for whoever mends it.
            log.write(log.Level.WARNING, "".join(traceback.format_exception(error)))
            return reconcile.Verdict_Unknown()
        match verdict:
            case http.Response():
                headers = [(key, value.encode()) for key, value in verdict.headers]
                return reconcile.Verdict_Done(reconcile.Answer_Http(reconcile.HttpResponse(verdict.status, headers, verdict.body)))
            case content.ToolResult():
                return reconcile.Verdict_Done(reconcile.Answer_AgentTool(_result(verdict)))
            case NotDone():
                return reconcile.Verdict_NotDone()
        return reconcile.Verdict_Unknown()
