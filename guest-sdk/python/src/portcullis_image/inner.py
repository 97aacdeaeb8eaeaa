"""Imports what the author's functions import, before the image is taken: a call finds it loaded, and what cannot be imported is an error
of the build, with its place, and no surprise in a call."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from types import ModuleType

from . import files

# Who catches one of these counts on an import that fails.
_FAILURES = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


def load(folder: str) -> None:
    """`folder` has the author's modules. What they import may be more of these."""
    wrong: list[str] = []
    looked_at: set[str] = set()
    while new := [one for one in _modules(folder) if one.__name__ not in looked_at]:
        for module in new:
            looked_at.add(module.__name__)
            wrong.extend(_load_of(module, folder))
    if wrong:
        raise ImportError("\n".join(["what functions import is not there in a component:", *wrong]))


def _modules(folder: str) -> list[ModuleType]:
    return [one for one in sys.modules.values() if str(getattr(one, "__file__", "")).startswith(folder + "/")]


def _load_of(module: ModuleType, folder: str) -> Iterator[str]:
    path = str(module.__file__)
    with files.system_open(path, "rb") as file:
        tree = ast.parse(file.read())
    for statement, is_tried in _imports(tree.body, False, False):
        for level, name, parts in _named(statement):
            try:
                found = __import__(name, module.__dict__, None, parts, level)
                if missing := [part for part in parts if part != "*" and not hasattr(found, part)]:
                    raise ImportError(f"it has no `{missing[0]}`")
            except Exception as error:
                if not is_tried:
                    what = "." * level + name
                    yield f"{path.removeprefix(folder + '/')}:{statement.lineno}: `{what}`: {_reason(name, error)}"


def _imports(body: list[ast.stmt], is_inner: bool, is_tried: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Those in functions, and whether somebody counts on their failure."""
    for statement in body:
        match statement:
            case ast.Import() | ast.ImportFrom() if is_inner:
                yield statement, is_tried
            case ast.If(test) if "TYPE_CHECKING" in ast.unparse(test):
                yield from _imports(statement.orelse, is_inner, is_tried)
            # For another system or version of Python, or where a package is there.
            case ast.If(test) if not isinstance(test, ast.Constant):
                yield from _imports([*statement.body, *statement.orelse], is_inner, True)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _imports(statement.body, True, is_tried)
            case _:
                tried = is_tried or _catches(statement)
                for field in ("body", "handlers", "orelse", "finalbody", "cases"):
                    for inner in getattr(statement, field, []):
                        yield from _imports([inner] if isinstance(inner, ast.stmt) else inner.body, is_inner, tried)


def _catches(statement: ast.stmt) -> bool:
    """Whether the statement catches that an import fails."""
    match statement:
        case ast.Try(handlers=handlers) | ast.TryStar(handlers=handlers):
            return any(one.type is None or _is_failure(one.type) for one in handlers)
        case ast.With(items) | ast.AsyncWith(items):
            calls = [one.context_expr for one in items if isinstance(one.context_expr, ast.Call)]
            return any(_name(call.func) == "suppress" and any(map(_is_failure, call.args)) for call in calls)
    return False


def _is_failure(caught: ast.expr) -> bool:
    return any(_name(one) in _FAILURES for one in (caught.elts if isinstance(caught, ast.Tuple) else [caught]))


def _name(expression: ast.expr) -> str:
    """`suppress`, also of `contextlib.suppress`."""
    return ast.unparse(expression).rpartition(".")[2]


def _named(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[int, str, list[str]]]:
    names = [one.name for one in statement.names]
    if isinstance(statement, ast.ImportFrom):
        yield statement.level, statement.module or "", names
    else:
        yield from ((0, name, []) for name in names)


def _reason(name: str, error: Exception) -> str:
    top = name.split(".")[0]
    if not isinstance(error, ModuleNotFoundError):
        return str(error)
    if top in sys.stdlib_module_names:
        return f"{error}; this part of the standard library needs compiled code, or a screen, that a component does not have"
    return f"{error}; packages are named under `dependencies` in pyproject.toml"
