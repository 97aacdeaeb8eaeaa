"""Temporary files in memory, for packages that write through one. They are gone when the call ends, and count as its memory until they
are removed and closed."""

from __future__ import annotations

import errno
import itertools
import os
from typing import Any

# Where the module `tempfile` looks first.
FOLDER = "/tmp"
_ACCESS = os.O_RDONLY | os.O_WRONLY | os.O_RDWR

files: dict[str, bytearray] = {}
folders: set[str] = {FOLDER}


class Opened:
    """An open file: whoever has its number shares its position."""

    def __init__(self, content: bytearray, path: str, flags: int) -> None:
        self.content, self.path, self.flags, self.at = content, path, flags, 0

    def needs(self, access: int) -> None:
        if self.flags & _ACCESS not in (access, os.O_RDWR):
            raise error_of(errno.EBADF, self.path)


# A file that was removed is held by its entry here alone, until that is closed.
_open: dict[int, Opened] = {}
# Numbers of open files that the system does not give.
_numbers = itertools.count(1 << 30)


def is_here(path: str) -> bool:
    return path == FOLDER or path.startswith(FOLDER + "/")


def names(folder: str) -> list[str]:
    if folder not in folders:
        raise error_of(errno.ENOTDIR if folder in files else errno.ENOENT, folder)
    return [os.path.basename(path) for path in [*files, *folders] if path != folder and os.path.dirname(path) == folder]


def open_number(path: str, flags: int) -> int:
    """As `os.open`."""
    if path in folders:
        raise error_of(errno.EISDIR, path)
    if path in files and flags & os.O_CREAT and flags & os.O_EXCL:
        raise error_of(errno.EEXIST, path)
    if path not in files:
        if not flags & os.O_CREAT:
            raise error_of(errno.ENOENT, path)
        _check_folder_of(path)
        files[path] = bytearray()
    if flags & os.O_TRUNC:
        files[path].clear()
    number = next(_numbers)
    _open[number] = Opened(files[path], path, flags)
    return number


def is_number(file: Any) -> bool:
    return type(file) is int and file in _open


def opened(number: int) -> Opened:
    if number not in _open:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return _open[number]


def close_number(number: int) -> None:
    del _open[number]


def read_number(number: int, length: int) -> bytes:
    """As `os.read`."""
    file = opened(number)
    file.needs(os.O_RDONLY)
    piece = bytes(file.content[file.at : file.at + length])
    file.at += len(piece)
    return piece


def write_number(number: int, data: Any) -> int:
    """As `os.write`."""
    file, data = opened(number), bytes(memoryview(data))
    file.needs(os.O_WRONLY)
    if file.flags & os.O_APPEND:
        file.at = len(file.content)
    if data:
        file.content.extend(bytes(max(0, file.at - len(file.content))))
        file.content[file.at : file.at + len(data)] = data
        file.at += len(data)
    return len(data)


def seek_number(number: int, offset: int, whence: int) -> int:
    """As `os.lseek`."""
    file = opened(number)
    at = {os.SEEK_SET: 0, os.SEEK_CUR: file.at, os.SEEK_END: len(file.content)}[whence] + offset
    if at < 0:
        raise error_of(errno.EINVAL, file.path)
    file.at = at
    return at


def truncate_number(number: int, size: int) -> None:
    """As `os.ftruncate`."""
    file = opened(number)
    file.needs(os.O_WRONLY)
    if size < 0:
        raise error_of(errno.EINVAL, file.path)
    del file.content[size:]
    file.content.extend(bytes(size - len(file.content)))


def remove(path: str) -> None:
    if path in folders:
        raise error_of(errno.EISDIR, path)
    _check(path)
    del files[path]


def make_folder(path: str) -> None:
    if path in folders or path in files:
        raise error_of(errno.EEXIST, path)
    _check_folder_of(path)
    folders.add(path)


def remove_folder(path: str) -> None:
    if names(path) or path == FOLDER:
        raise error_of(errno.ENOTEMPTY, path)
    folders.discard(path)


def touch(path: str) -> None:
    """For what changes a file's rights or times, which nobody keeps here."""
    _check(path)


def move(path: str, to: str) -> None:
    """As `os.replace`, of a file or of a folder with all that is in it."""
    _check(path)
    if path == to:
        return
    if path in files:
        if to in folders:
            raise error_of(errno.EISDIR, to)
        _check_folder_of(to)
        files[to] = files.pop(path)
        return
    if path == FOLDER or to.startswith(path + "/"):
        raise error_of(errno.EINVAL, to)
    if to in files or to in folders and names(to):
        raise error_of(errno.ENOTDIR if to in files else errno.ENOTEMPTY, to)
    _check_folder_of(to)
    for one in [one for one in folders if one == path or one.startswith(path + "/")]:
        folders.remove(one)
        folders.add(to + one.removeprefix(path))
    for one in [one for one in files if one.startswith(path + "/")]:
        files[to + one.removeprefix(path)] = files.pop(one)


def _check(path: str) -> None:
    if path not in files and path not in folders:
        raise error_of(errno.ENOENT, path)


def _check_folder_of(path: str) -> None:
    above = os.path.dirname(path)
    if above not in folders:
        raise error_of(errno.ENOTDIR if above in files else errno.ENOENT, path)


def error_of(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
