"""Files where a component has none: those of the archive, since many packages find their data beside `__file__`, and temporary ones. All
other paths go to the system, which knows the folders that were granted."""

from __future__ import annotations

import builtins
import errno
import functools
import io
import os
import stat
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import archive, temporary

# Files of the archive are from 1980: zip files know no earlier date.
_FIRST_DATE = 315_532_800

system_open = io.open
_stat, _scandir, _system_close, _system_write = os.stat, os.scandir, os.close, os.write


def install() -> None:
    builtins.open = io.open = _opened  # type: ignore[assignment]
    os.scandir, os.close, os.write = _Scan, _close, _write  # type: ignore[assignment, misc]
    for name, ours in _OURS.items():
        setattr(os, name, _unless_found(getattr(os, name), ours))


def _found(path: Any) -> str | None:
    """The path, if it is one of ours."""
    if type(path) is not str:
        try:
            path = os.fspath(path)
        except TypeError:
            return None
        path = os.fsdecode(path)
    if path[:1] != "/":
        return None
    if "//" in path or "/." in path or path[-1] == "/":
        path = os.path.normpath(path)
    return path if path in archive.files or path in archive.folders or _is_temporary(path) else None


def _is_temporary(path: str) -> bool:
    if not temporary.is_here(path):
        return False
    try:
        _stat(temporary.FOLDER)
    except OSError:
        return True
    # A folder was granted there.
    return False


def _opened(
    file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None, newline: Any = None,
    closefd: bool = True, opener: Any = None,
) -> Any:  # fmt: skip
    how = (buffering, encoding, errors, newline)
    if temporary.is_number(file):
        return temporary.open_opened(file, mode, *how)
    path = _found(file)
    if path is None:
        return system_open(file, mode, *how, closefd, opener)
    if opener is not None:
        return _opened(opener(path, os.O_RDWR), mode, *how)
    if temporary.is_here(path):
        return temporary.open_file(path, mode, *how)
    if path in archive.folders:
        raise _error(errno.EISDIR, path)
    if set(mode) & set("wxa+"):
        raise _error(errno.EROFS, path)
    if path.endswith(".py"):
        raise FileNotFoundError(errno.ENOENT, "a component has bytecode and no sources", path)
    content = io.BytesIO(archive.read(path))
    content.name = path  # type: ignore[attr-defined]
    return content if "b" in mode else io.TextIOWrapper(content, encoding, errors, newline)


def _unless_found(ask: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(ask)
    def asked(path: Any = ".", *rest: Any, **more: Any) -> Any:
        found = _found(path)
        return ask(path, *rest, **more) if found is None else ours(found, *rest, **more)

    return asked


def _status(path: str, **_: Any) -> os.stat_result:
    if path in archive.folders or path in temporary.folders:
        return _result(stat.S_IFDIR | 0o755, 0)
    if path in archive.files:
        return _result(stat.S_IFREG | 0o444, archive.files[path].size)
    if path in temporary.files:
        return _result(stat.S_IFREG | 0o644, len(temporary.files[path]), int(time.time()))
    raise _error(errno.ENOENT, path)


def _result(mode: int, size: int, changed: int = _FIRST_DATE) -> os.stat_result:
    return os.stat_result((mode, 0, 0, 1, 0, 0, size, changed, changed, changed))


def _names(path: str) -> list[str]:
    if path in archive.files:
        raise _error(errno.ENOTDIR, path)
    return list(archive.folders[path]) if path in archive.folders else temporary.names(path)


def _may(path: str, mode: int, **_: Any) -> bool:
    return temporary.is_here(path) or not mode & os.W_OK


def _open_number(path: str, flags: int, *_: Any, **__: Any) -> int:
    return _changed(temporary.open_number, path, flags)


def _changed(change: Callable[..., Any], path: str, *rest: Any, **_: Any) -> Any:
    if not temporary.is_here(path):
        raise _error(errno.EROFS, path)
    return change(path, *rest)


def _close(number: Any) -> None:
    temporary.close_number(number) if temporary.is_number(number) else _system_close(number)


def _write(number: Any, data: Any) -> int:
    return temporary.write_number(number, data) if temporary.is_number(number) else _system_write(number, data)


_OURS: dict[str, Callable[..., Any]] = {
    "stat": _status,
    "lstat": _status,
    "listdir": _names,
    "access": _may,
    "open": _open_number,
    "unlink": functools.partial(_changed, temporary.remove),
    "remove": functools.partial(_changed, temporary.remove),
    "mkdir": lambda path, *_, **__: _changed(temporary.make_folder, path),
    "rmdir": functools.partial(_changed, temporary.remove_folder),
    "rename": functools.partial(_changed, temporary.move),
    "replace": functools.partial(_changed, temporary.move),
}


class _Scan:
    """As `os.scandir`."""

    def __init__(self, path: Any = ".") -> None:
        found = _found(path)
        self._within: Any = _scandir(path) if found is None else None
        self._entries: Iterator[Any] = iter([_DirEntry(found, name) for name in _names(found)] if found else self._within)

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
        return stat.S_ISDIR(self.stat().st_mode)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return not self.is_dir()

    def is_symlink(self) -> bool:
        return False

    is_junction = is_symlink

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return os.stat(self.path)

    def inode(self) -> int:
        return 0


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
