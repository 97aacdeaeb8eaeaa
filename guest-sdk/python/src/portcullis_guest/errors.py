"""Errors. Whatever leaves a tool ends its call; an exception that is none of these is a failure with its own text."""

from __future__ import annotations


class ToolError(Exception):
    """The tool failed. The text is a sentence for the model."""


class InvalidArguments(ToolError):
    """The arguments match the schema but are not valid. Says which and why."""


class Cancelled(ToolError):
    """The call was cancelled. Clean up and let it pass."""

    def __init__(self) -> None:
        super().__init__("the call was cancelled")


class Denied(ToolError):
    """Something was not granted, and was not done."""

    def __init__(self, capability: str, target: str, remedy: str = "") -> None:
        self.capability, self.target, self.remedy = capability, target, remedy
        super().__init__(f"denied: {capability} does not allow `{target}`" + (f". {remedy}" if remedy else ""))


_LIMITS = {
    "fuel": ("fuel", ""),
    "cpu": ("CPU time", " ms"),
    "deadline": ("time", " ms"),
    "memory": ("memory", " bytes"),
    "output": ("output", " bytes"),
    "chunks": ("output", " chunks"),
    "calls": ("calls of agent tools", " calls"),
    "depth": ("nesting of calls", " levels"),
    "arguments": ("arguments", " bytes"),
    "results": ("results of agent tools", " bytes"),
    "waiting": ("waiting for agent tools", " ms"),
    "questions": ("questions to the client", " questions"),
    "tokens": ("what a model may write", " tokens"),
    "stored": ("what may be stored", ""),
}


class Exhausted(ToolError):
    """A limit of the call was reached."""

    def __init__(self, budget: str, limit: int) -> None:
        self.budget, self.limit = budget, limit
        what, unit = _LIMITS[budget]
        super().__init__(f"the limit on {what} is reached: {limit}{unit}")


class Unsupported(ToolError):
    """The tool needs something that this host or client does not offer. `what` names it."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(what)


class NotFound(ToolError):
    """There is no such resource. Only from resources."""

    def __init__(self) -> None:
        super().__init__("there is no such resource")


class Declined(ToolError):
    """The user said no."""

    def __init__(self, message: str = "the user declined") -> None:
        super().__init__(message)


class Dismissed(ToolError):
    """The user closed the question without an answer. The call goes on."""

    def __init__(self) -> None:
        super().__init__("the user closed the question without an answer")


class ClientError(ToolError):
    """A question has no answer. `kind` is `invalid`, `declined`, `not-answered`, `timeout` or `failed`."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


class AgentError(ToolError):
    """A tool of the agent gave no result. `kind` is `unknown-tool`, `declined`, `cycle`, `timeout`, `invalid-arguments`, `tool-error`,
    `failed` or `unexpected-result`."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


class StateError(ToolError):
    """A value was not stored or read. `kind` is `invalid`, `conflict` or `failed`."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


class HttpError(ToolError):
    """A request got no answer, or not the expected one. `kind` is `invalid`, `timeout`, `exhausted`, `failed`, `status` or
    `unexpected-response`."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


class PublishError(ToolError):
    """Nothing was published or removed. `kind` is `invalid` or `not-found`."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


class EventError(ToolError):
    """An event was not added. `kind` is `invalid`."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


class AccountError(ToolError):
    """A request with a connected account got no answer. `kind` is `not-connected`, `invalid`, `timeout` or `failed`."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


class CheckpointError(ToolError):
    """Nothing was saved, or what was saved is not what was expected."""


class OutputError(ToolError):
    """A chunk is not valid."""


def text_of(error: BaseException) -> str:
    """What a failure says. Some exceptions of Python's have a text that says little without their name."""
    text = str(error)
    if not text or isinstance(error, LookupError):
        return f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text
