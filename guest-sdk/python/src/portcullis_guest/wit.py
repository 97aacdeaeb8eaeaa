"""The real host: what componentize-py binds, in the words of this package. Imported in WebAssembly only."""

from __future__ import annotations

from typing import Any

from wit_world.imports import checkpoint, log, meter, output, progress, state, steering

from . import errors, wit_agent_tools, wit_client, wit_leaving
from .content import Content
from .host import Ended, Entry, Request, TimedOut
from .wit_values import denied, exhausted, made, milliseconds, to_content


def _state_error(error: Any) -> errors.ToolError:
    match error:
        case state.StateError_Denied(denial):
            return denied(denial)
        case state.StateError_Exhausted(exhaustion):
            return exhausted(exhaustion)
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
            return exhausted(exhaustion)
    return errors.OutputError(f"the content cannot be sent: {error.value}")


def _checkpoint_error(error: Any) -> errors.ToolError:
    if isinstance(error, checkpoint.CheckpointError_TooLarge):
        return errors.CheckpointError(f"a checkpoint has at most {error.value} bytes")
    return errors.CheckpointError("a call must ask for what was saved before it saves")


class WitHost:
    """Implements `host.Host`."""

    def emit(self, content: list[Content]) -> int:
        return made(output.emit, _output_error, [to_content(one) for one in content])

    def progress(self, done: float, total: float | None, message: str | None) -> None:
        progress.report(done, total, message)

    def log(self, level: str, message: str) -> None:
        log.write(log.Level[level.upper()], message)

    ask = staticmethod(wit_client.ask)
    ask_many = staticmethod(wit_client.ask_many)
    supported = staticmethod(wit_client.supported)
    list_agent_tools = staticmethod(wit_agent_tools.names)
    call_agent_tool = staticmethod(wit_agent_tools.call)
    call_agent_tools = staticmethod(wit_agent_tools.call_many)
    put_resource = staticmethod(wit_leaving.put_resource)
    append_resource = staticmethod(wit_leaving.append_resource)
    remove_resource = staticmethod(wit_leaving.remove_resource)
    put_prompt = staticmethod(wit_leaving.put_prompt)
    remove_prompt = staticmethod(wit_leaving.remove_prompt)
    emit_event = staticmethod(wit_leaving.emit_event)
    connected = staticmethod(wit_leaving.connected)
    send = staticmethod(wit_leaving.send)
    fuel_left = staticmethod(meter.fuel_left)
    deadline_left = staticmethod(meter.deadline_left)

    def state_get(self, key: str) -> Entry | None:
        found = made(state.get, _state_error, key)
        return None if found is None else Entry(found.value, found.version)

    def state_set(self, key: str, value: bytes) -> int:
        return made(state.set, _state_error, key, value)

    def state_swap(self, key: str, version: int | None, value: bytes) -> int:
        return made(state.swap, _state_error, key, version, value)

    def state_remove(self, key: str) -> bool:
        return made(state.remove, _state_error, key)

    def state_keys(self, prefix: str, after: str | None) -> list[str]:
        return made(state.keys, _state_error, prefix, after)

    def restored(self) -> bytes | None:
        return checkpoint.restored()

    def save(self, state: bytes) -> None:
        made(checkpoint.save, _checkpoint_error, state)

    def next_message(self) -> str | None:
        return steering.next()

    def receive(self, timeout: float | None) -> str | Ended | TimedOut:
        match steering.receive(milliseconds(timeout)):
            case steering.Received_Message(message):
                return message
            case steering.Received_Ended():
                return Ended()
        return TimedOut()

    def http(self, request: Request) -> Any:
        try:
            from . import wit_http
        except ImportError:
            # `portcullis build` leaves it out: the component does not import it.
            raise errors.ToolError("this plugin requests no HTTP: name the hosts under `requests` in pyproject.toml") from None
        return wit_http.send(request)
