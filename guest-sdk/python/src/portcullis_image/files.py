"""Opens files of the archive as those of a disk: many packages find their data beside `__file__`. Paths that the archive does not have
go to the system, which knows the folders that were granted."""

from __future__ import annotations

import builtins
import errno
import io
import os
import stat
from collections.abc import Callable, Iterator
from typing import Any

from . import archive

_open, _stat, _lstat, _listdir, _scandir, _access = io.open, os.stat, os.lstat, os.listdir, os.scandir, os.access


def install() -> None:
    builtins.open = io.open = _opened  # type: ignore[assignment]
    os.stat, os.lstat = _status(_stat), _status(_lstat)  # type: ignore[assignment]
    os.listdir, os.scandir, os.access = _names, _Scan, _may  # type: ignore[assignment, misc]


def _found(path: Any) -> str | None:
    """The path in the archive, if it is there."""
    try:
        path = os.fspath(path)
    except TypeError:
        return None
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if path in archive.files or path in archive.folders:
        return path
    if path[:1] == "/" and ("//" in path or "/." in path or path[-1] == "/"):
        path = os.path.normpath(path)
        return path if path in archive.files or path in archive.folders else None
    return None


def _opened(file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None, newline: Any = None, *rest: Any, **more: Any) -> Any:
    path = _found(file)
    if path is None:
        return _open(file, mode, buffering, encoding, errors, newline, *rest, **more)
    if path in archive.folders:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if set(mode) & set("wxa+"):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
    if path.endswith(".py"):
        raise FileNotFoundError(errno.ENOENT, "the component has bytecode and no sources", path)
    content = io.BytesIO(archive.read(path))
    content.name = path  # type: ignore[attr-defined]
    return content if "b" in mode else io.TextIOWrapper(content, encoding, errors, newline)


def _status(ask: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
    def status(path: Any, *rest: Any, **more: Any) -> os.stat_result:
        found = _found(path)
        if found is None:
            return ask(path, *rest, **more)
        entry = archive.files.get(found)
        mode = stat.S_IFDIR | 0o555 if entry is None else stat.S_IFREG | 0o444
        return os.stat_result((mode, 0, 0, 1, 0, 0, 0 if entry is None else entry.size, 0, 0, 0))

    return status


def _names(path: Any = ".") -> list[Any]:
    found = _found(path)
    if found is None:
        return _listdir(path)
    if found in archive.files:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), found)
    return list(archive.folders[found])


def _may(path: Any, mode: int, **more: Any) -> bool:
    return _access(path, mode, **more) if _found(path) is None else not mode & os.W_OK


class _Scan:
    """As `os.scandir`."""

    def __init__(self, path: Any = ".") -> None:
        found = _found(path)
        self._within: Any = None if found is not None else _scandir(path)
        self._entries: Iterator[Any] = iter(self._within or [_DirEntry(found, name) for name in _names(found)])

    def __iter__(self) -> Iterator[Any]:
        return self._entries

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> _Scan:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._within is not None:
            self._within.close()


class _DirEntry:
    """As `os.DirEntry`."""

    def __init__(self, folder: str, name: str) -> None:
        self.name, self.path = name, f"{folder}/{name}"

    def __fspath__(self) -> str:
        return self.path

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self.path in archive.folders

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self.path in archive.files

    def is_symlink(self) -> bool:
        return False

    is_junction = is_symlink

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return os.stat(self.path)

    def inode(self) -> int:
        return 0
