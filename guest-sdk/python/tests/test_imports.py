"""Modules of the SDK import in one direction, or none can be read alone."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import portcullis_guest
import pytest

SOURCE = Path(portcullis_guest.__file__).parent


def imported(source: str, modules: set[str]) -> set[str]:
    """The modules beside it that a module names, wherever it does."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            found |= {node.module} if node.module else {alias.name for alias in node.names}
    return found & modules


def order(sources: dict[str, str]) -> list[str]:
    return list(TopologicalSorter({name: imported(source, set(sources)) for name, source in sources.items()}).static_order())


def test_no_modules_import_each_other() -> None:
    sources = {path.stem: path.read_text() for path in SOURCE.glob("*.py")}
    assert len(order(sources)) == len(sources) > 20


def test_a_circle_is_found() -> None:
    with pytest.raises(CycleError):
        order({"a": "from . import b", "b": "def f():\n    from .a import g"})
