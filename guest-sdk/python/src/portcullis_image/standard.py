"""Writes the archive of the standard library: all that can be imported where a component runs, and the zones of time. Run once for each
version of the SDK, by `portcullis build`."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator

from . import archive

_LIBRARY = "/python"
# Where `portcullis build` has the SDK.
SDK = "/2"
# With `os.path`, which has no file of its own.
_BUILT_IN = {*sys.builtin_module_names, *sys.modules}
# Where the modules `zoneinfo` and `dateutil.tz` look.
_ZONES = "/usr/share/zoneinfo"
# For programs at a screen, and for those who build and install Python.
_LEFT_OUT = (
    "config-", "ensurepip/", "idlelib/", "lib2to3/", "pydoc_data/", "site-packages/", "tkinter/", "turtledemo/", "venv/", "_pyrepl/",
    "antigravity.py", "turtle.py", "this.py",
)  # fmt: skip


def write(to: str, sdk: str, zones: str) -> None:
    sources = {}
    for at, _, names in os.walk(_LIBRARY):
        for name in names:
            path = os.path.relpath(os.path.join(at, name), _LIBRARY)
            if name.endswith(".py") and not path.startswith(_LEFT_OUT):
                sources[_module(path)] = os.path.join(at, name)
    usable = _usable(sources)
    archive.write(
        to,
        archive.Part(_LIBRARY, _LIBRARY, lambda path: path.endswith(".py") and _module(path) in usable),
        archive.Part(f"{sdk}/portcullis_image/stand_ins", _LIBRARY),
        archive.Part(sdk, SDK),
        archive.Part(zones, _ZONES, lambda path: not path.endswith(".py")),
    )


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _usable(sources: dict[str, str]) -> set[str]:
    """The modules that need no module with compiled code that is not there, nor a module that does."""
    needs = {module: set(_needs(module, source)) for module, source in sources.items()}
    usable = set(sources)
    while unusable := {one for one in usable if any(name not in usable and name not in _BUILT_IN for name in needs[one])}:
        usable -= unusable
    return usable


def _needs(module: str, source: str) -> Iterator[str]:
    """The package of a module, and what the module imports as it is loaded, whatever happens: not in a function, and not to try whether
    it is there."""
    if "." in module:
        yield module.rpartition(".")[0]
    with open(source, "rb") as file:
        body = ast.parse(file.read()).body
    package = module if source.endswith("__init__.py") else module.rpartition(".")[0]
    for statement in body:
        match statement:
            case ast.Import(names):
                yield from (name.name for name in names)
            case ast.ImportFrom(name, _, 0):
                yield str(name)
            case ast.ImportFrom(name, _, level):
                around = package.split(".")[: len(package.split(".")) - level + 1]
                yield ".".join([*around, *([name] if name else [])])
