"""Temporary files in memory, for packages that write through one. They are gone when the call ends, and count as its memory."""

from __future__ import annotations

import errno
import io
import os
from typing import Any

# Where the module `tempfile` looks first.
FOLDER = "/tmp"
# Numbers of open files that the system has not.
_NUMBERS = 1 << 30

files: dict[str, bytearray] = {}
folders: set[str] = {FOLDER}
_open: dict[int, tuple[str, bytearray]] = {}


def is_here(path: str) -> bool:
    return path == FOLDER or path.startswith(FOLDER + "/")


def names(folder: str) -> list[str]:
    if folder not in folders:
        raise _error(errno.ENOENT, folder)
    return [os.path.basename(path) for path in [*files, *folders] if path != folder and os.path.dirname(path) == folder]


def open_number(path: str, flags: int) -> int:
    """As `os.open`."""
    if path in folders:
        raise _error(errno.EISDIR, path)
    if path in files and flags & os.O_CREAT and flags & os.O_EXCL:
        raise _error(errno.EEXIST, path)
    if path not in files:
        if not flags & os.O_CREAT or os.path.dirname(path) not in folders:
            raise _error(errno.ENOENT, path)
        files[path] = bytearray()
    if flags & os.O_TRUNC:
        files[path] = bytearray()
    number = _NUMBERS + len(_open)
    _open[number] = path, files[path]
    return number


def is_number(file: Any) -> bool:
    return type(file) is int and file in _open


def write_number(number: int, data: Any) -> int:
    """As `os.write`, at the end."""
    _open[number][1].extend(data)
    return len(data)


def close_number(number: int) -> None:
    _open[number] = "", bytearray()


def open_file(path: str, mode: str, *how: Any) -> Any:
    flags = os.O_CREAT if mode[0] in "wax" else 0
    flags |= {"w": os.O_TRUNC, "x": os.O_EXCL}.get(mode[0], 0)
    return open_opened(open_number(path, flags), mode, *how)


def open_opened(number: int, mode: str, buffering: int = -1, encoding: Any = None, errors: Any = None, newline: Any = None) -> Any:
    """As `io.open` makes a file of the number of an open one."""
    path, content = _open[number]
    raw = _File(content, path, mode)
    if buffering == 0:
        return raw
    layer = io.BufferedRandom if "+" in mode else io.BufferedReader if "r" in mode else io.BufferedWriter
    buffered: Any = layer(raw)
    return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)


def remove(path: str) -> None:
    if files.pop(path, None) is None:
        raise _error(errno.ENOENT, path)


def make_folder(path: str) -> None:
    if path in folders or path in files:
        raise _error(errno.EEXIST, path)
    folders.add(path)


def remove_folder(path: str) -> None:
    if names(path):
        raise _error(errno.ENOTEMPTY, path)
    folders.discard(path)


def move(path: str, to: str) -> None:
    if path not in files:
        raise _error(errno.ENOENT, path)
    files[to] = files.pop(path)


class _File(io.RawIOBase):
    def __init__(self, content: bytearray, name: str, mode: str) -> None:
        self._content, self.name, self.mode = content, name, mode
        self._at = len(content) if "a" in mode else 0

    def readable(self) -> bool:
        return "r" in self.mode or "+" in self.mode

    def writable(self) -> bool:
        return "r" not in self.mode or "+" in self.mode

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: len(self._content)}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        piece = self._content[self._at : self._at + len(buffer)]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def write(self, data: Any) -> int:
        if "a" in self.mode:
            self._at = len(self._content)
        self._content.extend(bytes(max(0, self._at - len(self._content))))
        self._content[self._at : self._at + len(data)] = data
        self._at += len(data)
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        size = self._at if size is None else size
        del self._content[size:]
        self._content.extend(bytes(size - len(self._content)))
        return size


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
