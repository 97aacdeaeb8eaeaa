"""Makes calls before the image is taken: what Python prepares at the first calls, such as specialised bytecode, is then in the image."""

from __future__ import annotations

from dataclasses import dataclass

from componentize_py_types import Ok
from portcullis_guest.exports import Tools
from portcullis_guest.plugin import PLUGIN, Tool, offer

# Python specialises bytecode within so many runs of it, and writes into a class at so many of its first instances.
_CALLS = 40


@dataclass
class Sum:
    total: int
    note: str | None = None


def text(name: str, times: int = 1) -> str:
    """Answers with a text."""
    return f"Hello, {name}!" * times


def structured(numbers: list[int]) -> Sum:
    """Answers with an object."""
    return Sum(sum(numbers))


_exports = Tools()
_tools = {function.__name__: Tool(**vars(offer(function, None, None, None))) for function in (text, structured)}


def make() -> None:
    """None of the author's code runs, and nothing is left registered."""
    theirs, PLUGIN.tools = PLUGIN.tools, _tools
    for _ in range(_CALLS):
        _call("text", '{"name": "Ada"}')
        _call("structured", '{"numbers": [1, 2]}')
    PLUGIN.tools = theirs


def _call(name: str, arguments: str) -> None:
    """As componentize-py does, which asks for each attribute by its name: the interpreter notes in which class it found it."""
    context = ("id", "local", None, None, 60_000, None, False)
    returned = Ok(*[getattr(_exports, "call_tool")(context, name, arguments)])  # noqa: B009
    contents, *_ = getattr(returned, "value")  # noqa: B009
    for data, _ in contents:
        getattr(data, "value")  # noqa: B009
