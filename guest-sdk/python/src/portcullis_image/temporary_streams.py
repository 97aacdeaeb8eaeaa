"""The objects that `open` makes of temporary files in memory."""

from __future__ import annotations

import io
import os
from typing import Any

from . import temporary

_KINDS = {"r": 0, "w": os.O_CREAT | os.O_TRUNC, "x": os.O_CREAT | os.O_EXCL, "a": os.O_CREAT | os.O_APPEND}


def flags_of(mode: str) -> int:
    """How a file is opened for a mode of `open`, whose letters come in any order."""
    letters = set(mode)
    kinds = letters & set(_KINDS)
    if len(letters) != len(mode) or len(kinds) != 1 or letters - {*_KINDS, *"bt+"} or letters >= {"b", "t"}:
        raise ValueError(f"invalid mode: {mode!r}")
    access = os.O_RDWR if "+" in letters else os.O_RDONLY if "r" in letters else os.O_WRONLY
    return access | _KINDS[kinds.pop()]


def stream(
    number: int, mode: str, buffering: int = -1, encoding: Any = None, errors: Any = None, newline: Any = None, closefd: bool = True,
) -> Any:  # fmt: skip
    """As `io.open` makes it of the number of an open file."""
    flags_of(mode)
    raw = _File(number, mode, closefd)
    if buffering == 0:
        return raw
    layer = io.BufferedRandom if "+" in mode else io.BufferedReader if "r" in mode else io.BufferedWriter
    buffered: Any = layer(raw)
    if "b" in mode:
        return buffered
    text: Any = io.TextIOWrapper(buffered, encoding, errors, newline, buffering == 1)
    text.mode = mode
    return text


class _File(io.RawIOBase):
    def __init__(self, number: int, mode: str, closes: bool) -> None:
        self._number, self._closes, self.mode = number, closes, mode
        self.name = temporary.opened(number).path
        if "a" in mode:
            self.seek(0, io.SEEK_END)

    def close(self) -> None:
        if not self.closed:
            super().close()
            if self._closes and temporary.is_number(self._number):
                temporary.close_number(self._number)

    def fileno(self) -> int:
        return self._number

    def readable(self) -> bool:
        return "r" in self.mode or "+" in self.mode

    def writable(self) -> bool:
        return "r" not in self.mode or "+" in self.mode

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return temporary.seek_number(self._number, offset, whence)

    def readinto(self, buffer: Any) -> int:
        piece = temporary.read_number(self._number, len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def write(self, data: Any) -> int:
        return temporary.write_number(self._number, data)

    def truncate(self, size: int | None = None) -> int:
        size = self.tell() if size is None else size
        temporary.truncate_number(self._number, size)
        return size
