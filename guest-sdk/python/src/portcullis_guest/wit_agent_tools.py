"""Tools on the agent's side, of the real host. In WebAssembly only."""

from __future__ import annotations

from typing import Any

from componentize_py_types import Err
from wit_world.imports import agent_tools

from . import errors
from .agent_tools import AgentResult
from .content import ToolResult
from .wit_values import denied, exhausted, from_content, made, milliseconds


def _agent_error(error: Any) -> errors.ToolError:
    match error:
        case agent_tools.AgentError_NotSupported(who):
            return errors.Unsupported(f"agent tools are not supported: {who}")
        case agent_tools.AgentError_Denied(denial):
            return denied(denial)
        case agent_tools.AgentError_Exhausted(exhaustion):
            return exhausted(exhaustion)
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
        case agent_tools.AgentError_ToolError((contents, *_)):
            said = ToolResult([from_content(one) for one in contents])
            return errors.AgentError("tool-error", f"the agent tool failed: {said.text}")
    return errors.AgentError("failed", f"the agent tool broke: {error.value}")


def names() -> list[str]:
    return [tool.name for tool in agent_tools.list_tools()]


def call(name: str, arguments: str, timeout: float | None, purpose: str | None, chunks: bool) -> AgentResult:
    return _result(made(agent_tools.call, _agent_error, name, arguments, _options(timeout, purpose, chunks)))


def call_many(calls: list[tuple[Any, ...]]) -> list[AgentResult | errors.ToolError]:
    made = agent_tools.call_many([agent_tools.AgentCall(name, arguments, _options(*options)) for name, arguments, *options in calls])
    return [_agent_error(one.value) if isinstance(one, Err) else _result(one.value) for one in made]


def _options(timeout: float | None, purpose: str | None, chunks: bool) -> agent_tools.CallOptions:
    return agent_tools.CallOptions(milliseconds(timeout), purpose, chunks)


def _result(result: agent_tools.AgentResult) -> AgentResult:
    origin = type(result.origin).__name__.removeprefix("Origin_").lower()
    named = getattr(result.origin, "value", None)
    content = [from_content(one) for one in result.content]
    origin = f"{origin}:{named}" if named is not None else origin
    return AgentResult(content, result.structured, origin, result.private, result.edited)
