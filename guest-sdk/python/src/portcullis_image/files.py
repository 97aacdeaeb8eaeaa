"""Files where a component has none: those of the archive, since many packages find their data beside `__file__`, and temporary ones. All
other paths go to the system, which knows the folders that were granted."""

from __future__ import annotations

import builtins
import errno
import functools
import io
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import archive, temporary, temporary_streams
from .temporary import error_of

# Files of the archive are from 1980: zip files know no earlier date.
_FIRST_DATE = 315_532_800

system_open = io.open
_stat, _scandir = os.stat, os.scandir
# Whether a folder was granted in the place of the temporary one. None until a call asks.
_is_granted: bool | None = None


def install() -> None:
    builtins.open = io.open = _opened  # type: ignore[assignment]
    os.scandir = _Scan  # type: ignore[assignment, misc]
    for table, instead in ((_OURS, _unless_found), (_OF_NUMBERS, _unless_number), (_OF_TWO, _unless_either)):
        for name, ours in table.items():
            if hasattr(os, name):
                setattr(os, name, instead(getattr(os, name), ours))
    # If it was loaded before: it removes folders by the numbers of open ones, which ours do not have.
    if "shutil" in sys.modules:
        sys.modules["shutil"]._use_fd_functions = False  # type: ignore[attr-defined]


def forget_grants() -> None:
    """What is granted while a component is built is granted to no call."""
    global _is_granted
    _is_granted = None


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
    global _is_granted
    if not temporary.is_here(path):
        return False
    if _is_granted is None:
        try:
            _stat(temporary.FOLDER)
            _is_granted = True
        except OSError:
            _is_granted = False
    return not _is_granted


def _opened(
    file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None, newline: Any = None,
    closefd: bool = True, opener: Any = None,
) -> Any:  # fmt: skip
    how = (buffering, encoding, errors, newline)
    if temporary.is_number(file):
        return temporary_streams.stream(file, mode, *how, closefd)
    path = _found(file)
    if path is None:
        return system_open(file, mode, *how, closefd, opener)
    if opener is not None:
        return _opened(opener(path, temporary_streams.flags_of(mode)), mode, *how)
    if temporary.is_here(path):
        return temporary_streams.stream(temporary.open_number(path, temporary_streams.flags_of(mode)), mode, *how)
    if path in archive.folders:
        raise error_of(errno.EISDIR, path)
    if set(mode) & set("wxa+"):
        raise error_of(errno.EROFS, path)
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


def _unless_number(ask: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(ask)
    def asked(fd: Any, *rest: Any, **more: Any) -> Any:
        return ours(fd, *rest, **more) if temporary.is_number(fd) else ask(fd, *rest, **more)

    return asked


def _unless_either(ask: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(ask)
    def asked(src: Any, dst: Any, **more: Any) -> Any:
        found, to = _found(src), _found(dst)
        return ask(src, dst, **more) if found is None and to is None else ours(found, to, src, dst)

    return asked


def _status(path: str, **_: Any) -> os.stat_result:
    if path in archive.folders or path in temporary.folders:
        return _result(stat.S_IFDIR | 0o755, hash(path), 0)
    if path in archive.files:
        return _result(stat.S_IFREG | 0o444, hash(path), archive.files[path].size)
    if path in temporary.files:
        return _status_of(temporary.files[path])
    raise error_of(errno.ENOENT, path)


def _status_of(content: bytearray) -> os.stat_result:
    return _result(stat.S_IFREG | 0o644, id(content), len(content), int(time.time()))


def _result(mode: int, identity: int, size: int, changed: int = _FIRST_DATE) -> os.stat_result:
    # By the identity, `shutil` knows whether two paths lead to the same file. It copies times in nanoseconds.
    times = {f"st_{which}time_ns": changed * 1_000_000_000 for which in "amc"}
    return os.stat_result((mode, abs(identity), 0, 1, 0, 0, size, changed, changed, changed), times)


def _names(path: str) -> list[str]:
    if path in archive.files:
        raise error_of(errno.ENOTDIR, path)
    return list(archive.folders[path]) if path in archive.folders else temporary.names(path)


def _may(path: str, mode: int, **_: Any) -> bool:
    return path in temporary.files or path in temporary.folders or not (temporary.is_here(path) or mode & os.W_OK)


def _changed(change: Callable[..., Any], path: str, *rest: Any, **_: Any) -> Any:
    if not temporary.is_here(path):
        raise error_of(errno.EROFS, path)
    return change(path, *rest)


def _moved(found: str | None, to: str | None, src: Any, dst: Any) -> None:
    for path in (found, to):
        if path is not None and not temporary.is_here(path):
            raise error_of(errno.EROFS, path)
    # Who is told that these are different devices copies, as `shutil.move`.
    if found is None or to is None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), src, None, dst)
    temporary.move(found, to)


_OURS: dict[str, Callable[..., Any]] = {
    "stat": _status,
    "lstat": _status,
    "listdir": _names,
    "access": _may,
    "open": lambda path, flags, *_, **__: _changed(temporary.open_number, path, flags),
    "unlink": functools.partial(_changed, temporary.remove),
    "remove": functools.partial(_changed, temporary.remove),
    "mkdir": lambda path, *_, **__: _changed(temporary.make_folder, path),
    "rmdir": functools.partial(_changed, temporary.remove_folder),
    "chmod": lambda path, *_, **__: _changed(temporary.touch, path),
    "utime": lambda path, *_, **__: _changed(temporary.touch, path),
}
_OF_NUMBERS: dict[str, Callable[..., Any]] = {
    "close": temporary.close_number,
    "read": temporary.read_number,
    "write": temporary.write_number,
    "lseek": temporary.seek_number,
    "ftruncate": temporary.truncate_number,
    "fstat": lambda number: _status_of(temporary.opened(number).content),
    "fsync": lambda _: None,
}
_OF_TWO: dict[str, Callable[..., Any]] = {"rename": _moved, "replace": _moved}


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
        return self.stat().st_ino
