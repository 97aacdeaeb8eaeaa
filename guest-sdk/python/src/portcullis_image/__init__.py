"""Prepares the image of the interpreter's memory: `portcullis build` takes it, and every call begins with it. A page of it is copied
when a call first writes into it and restored after the call, so the image is arranged for calls to write into few pages. Used by the
entry that `portcullis build` writes, for the Python that componentize-py has."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator

from . import archive, code, files, holes, immortal, imports, inner, libraries, randomness  # noqa: F401

# What the generators below hold stays where it is: freed, it would leave holes.
_kept: list[Iterator[None]] = []
_main = ""
_sources = ""


def begin(archives: list[str], sources: str, path: list[str]) -> None:
    """Called before the SDK is loaded: what it allocates then lies together, too. Modules come from the archives and from the folder of
    the author's sources, along `path`."""
    global _sources
    _sources = sources
    randomness.delay()
    for one in archives:
        archive.load(one)
    archive.include(sources)
    files.install()
    imports.install(path)
    _use_up_holes()


def prepare(main: str) -> None:
    """Prepares the image once everything is loaded. `main` is the author's module."""
    global _main
    _main = main
    inner.load(_sources)
    os.environ.__class__ = _Environment


class _Environment(os._Environ):
    """The variables of the build. To forget them is the last that componentize-py does before the image is taken."""

    def keys(self) -> list[str]:  # type: ignore[override]
        self.__class__ = os._Environ
        for name in list(self):
            del self[name]
        files.forget_grants()
        _kept.append(_arrange())
        next(_kept[-1])
        return []


def _arrange() -> Iterator[None]:
    from . import calls

    calls.make()
    # New code counts from the beginning: what has run afterwards is what calls run.
    code.move("")
    calls.make()
    _use_up_holes()
    code.move(os.path.dirname(sys.modules[_main].__file__ or ""))
    calls.make()
    immortal.note()
    calls.make()
    _use_up_holes()
    calls.make()
    # The collector leaves alone what is there now: to look at an object is to write into its page.
    gc.freeze()
    yield


def _use_up_holes() -> None:
    _kept.append(holes.use_up())
    next(_kept[-1])
