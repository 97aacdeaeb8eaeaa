"""Moves code together. The interpreter writes into bytecode what it has seen there, in each function that a call runs."""

from __future__ import annotations

import gc
import opcode
from types import CodeType, FunctionType

# An instruction near the beginning of a function, which replaces another one when the function has run.
_HAS_RUN = opcode._specialized_opmap["RESUME_CHECK"]
_BEGINNING = 40


def move(author: str) -> None:
    """Moves the code that has run, and all code of modules in the folder `author`, if it is given."""
    functions = [one for one in gc.get_objects() if type(one) is FunctionType and _moves(one, author)]
    codes = [_copy(function.__code__) for function in functions]
    # Code is freed when all is copied: a copy would be put into the hole.
    for function, copied in zip(functions, codes, strict=True):
        function.__code__ = copied


def _moves(function: FunctionType, author: str) -> bool:
    of_author = author and str(function.__globals__.get("__file__")).startswith(author + "/")
    return bool(of_author) or _has_run(function.__code__)


def _has_run(code: CodeType) -> bool:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return _HAS_RUN in code._co_code_adaptive[:_BEGINNING:2] or any(map(_has_run, inner))


def _copy(code: CodeType) -> CodeType:
    """With the functions inside it."""
    return code.replace(co_consts=tuple(map(_copy_constant, code.co_consts)))


def _copy_constant(constant: object) -> object:
    match constant:
        case CodeType():
            return _copy(constant)
        # References to constants are counted, since they were not immortal when the code was specialised.
        case tuple():
            return tuple([*constant])
        case _:
            return constant
