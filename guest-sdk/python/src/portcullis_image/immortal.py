"""Notes which objects are there for good, for `portcullis build` to make them immortal in the image (PEP 683): references to them are
no longer counted, so a call that only reads them writes nothing."""

from __future__ import annotations

import gc
import importlib._bootstrap
import struct
import sys
from collections.abc import Iterator
from types import CodeType, CoroutineType, FrameType, GeneratorType

# Before the note, in reverse: this constant is in the image, too.
_SIGN = bytes.fromhex("37 0d 94 81 2c e3 6f 18 d9 42 7b a0 55 9e 11 c3")
# More objects, and what is in longer containers, stay as they are: these are an author's data, and to look at all of it takes memory.
_MOST = 250_000
_LONGEST = 5_000
_ENDING = (FrameType, GeneratorType, CoroutineType)
_CODE = (
    "co_consts co_names co_varnames co_cellvars co_freevars co_filename co_name co_qualname co_linetable co_exceptiontable"
).split()
_attributes = type.__dict__["__dict__"].__get__

_objects: tuple[object, ...] = ()
_note = b""


def note() -> None:
    """All that modules refer to, and what componentize-py calls. The tuple holds them, so none is freed before the image is taken."""
    global _objects, _note
    exports = [one for one in gc.get_objects() if type(one).__module__ == "portcullis_guest.exports"]
    _objects = tuple(_reachable([*sys.modules.values(), *exports]))
    # Put together at once: what is found first must not be a copy that is free again.
    _note = struct.pack("<16BII", *reversed(_SIGN), id(_objects) + tuple.__basicsize__, len(_objects))


def _reachable(found: list[object]) -> list[object]:
    # What is being imported is locked for a while only.
    passed = {id(importlib._bootstrap._module_locks), id(importlib._bootstrap._blocking_on)}
    reached: dict[int, object] = {}
    while found and len(reached) < _MOST:
        one = found.pop()
        if id(one) not in reached and id(one) not in passed and not isinstance(one, _ENDING):
            reached[id(one)] = one
            referents = gc.get_referents(one)
            if len(referents) <= _LONGEST:
                found.extend(referents)
                found.extend(_others(one))
    return list(reached.values())


def _others(one: object) -> Iterator[object]:
    # The collector asks no code, no built-in class and for no key that is a text: these are in no circle.
    match one:
        case CodeType():
            yield from (getattr(one, name) for name in _CODE)
        case dict():
            yield from dict.keys(one)
        case type():
            yield from _attributes(one).keys()
            yield from _attributes(one).values()
            yield from (one.__mro__, one.__bases__)
