"""Files in the image of the interpreter's memory, compressed, each until it is used. There are no others where a component runs: modules
that are imported during a call, with the data of their packages, come from here."""

from __future__ import annotations

import importlib._bootstrap_external
import json
import marshal
import os
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

# Python's own cache, what only type checkers read, tests of packages, and compiled code, which does not run in a component.
_NO_FOLDERS = {"__pycache__", "tests"}
_NO_FILES = (".pyc", ".pyi", ".so", ".pyd", ".dylib", ".dll", ".a", ".archive")
_LENGTH = 8


class Entry(NamedTuple):
    stored: memoryview
    size: int


# By absolute path. A module is stored under the path of its source, as its bytecode.
files: dict[str, Entry] = {}
# The names in each folder.
folders: dict[str, list[str]] = {}


def read(path: str) -> bytes:
    return zlib.decompress(files[path].stored)


def load(archive: str) -> None:
    """Takes in what `write` has written."""
    with open(archive, "rb") as file:
        content = memoryview(file.read())
    start = _LENGTH + int.from_bytes(content[:_LENGTH])
    for path, (at, length, size) in json.loads(bytes(content[_LENGTH:start])).items():
        _add(path, Entry(content[start + at : start + at + length], size))


def include(folder: str) -> None:
    """Takes in a folder as it is now."""
    for path, content in _contents(Part(folder, folder)):
        _add(path, Entry(memoryview(zlib.compress(content, 9)), len(content)))


class Part(NamedTuple):
    """A folder, under which path it is stored, and which of its files."""

    folder: str
    stored: str
    wanted: Callable[[str], bool] = lambda _: True


def write(archive: str, *parts: Part) -> None:
    """Writes folders as an archive."""
    index, pieces, end = {}, [], 0
    for path, content in (found for part in parts for found in _contents(part)):
        pieces.append(zlib.compress(content, 9))
        index[path] = (end, len(pieces[-1]), len(content))
        end += len(pieces[-1])
    written = json.dumps(index, separators=(",", ":")).encode()
    with open(archive, "wb") as file:
        file.write(len(written).to_bytes(_LENGTH) + written + b"".join(pieces))


def _add(path: str, entry: Entry) -> None:
    files[path] = entry
    folder, name = path.rsplit("/", 1)
    while folder and name not in (names := folders.setdefault(folder, [])):
        names.append(name)
        folder, name = folder.rsplit("/", 1)


def _contents(part: Part) -> Iterator[tuple[str, bytes]]:
    for at, inside, names in os.walk(part.folder):
        inside[:] = sorted(name for name in inside if name not in _NO_FOLDERS and name[0] != ".")
        for name in sorted(names):
            path = os.path.relpath(os.path.join(at, name), part.folder)
            if name.endswith(_NO_FILES) or not part.wanted(path):
                continue
            with open(os.path.join(at, name), "rb") as file:
                content = file.read()
            if name.endswith(".py"):
                try:
                    content = _bytecode(content, f"{part.stored}/{path}")
                # It cannot be imported, here as elsewhere: a template, or for another version of Python.
                except (SyntaxError, ValueError):
                    continue
            yield f"{part.stored}/{path}", content


def _bytecode(source: bytes, path: str) -> bytes:
    """As in a .pyc file that is never out of date."""
    code = compile(source, path, "exec", dont_inherit=True)
    return importlib._bootstrap_external.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)

