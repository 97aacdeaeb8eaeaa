"""Prepares the image of the interpreter's memory: `portcullis build` takes it, and every call begins with it. A page of it is copied
when a call first writes into it and restored after the call, so the image is arranged for calls to write into few pages. Used by the
texts that `portcullis build` runs, for the Python that componentize-py has."""

from __future__ import annotations

import gc
import os
import random
import sys
from collections.abc import Iterator

from . import archive, code, files, holes, immortal, imports, inner, libraries, randomness  # noqa: F401

# What the generators below hold stays where it is: freed, it would leave holes.
_kept: list[Iterator[None]] = []


def begin(standard: str, path: list[str]) -> None:
    """Called before the SDK is loaded: what it allocates then lies together, too. Modules come from this archive and others, along
    `path`."""
    randomness.delay()
    archive.load(standard)
    files.install()
    imports.install(path)
    use_up_holes()


def include(sources: str, packages: str | None) -> None:
    """Called before the author's modules are loaded. They are in the folder `sources`, and their packages in an archive."""
    if packages is not None:
        archive.load(packages)
    archive.include(sources)
    # What Python remembers is that these folders were not there.
    sys.path_importer_cache.clear()
    use_up_holes()


def load(sources: str) -> None:
    """Loads what the author's functions import, once their modules are loaded."""
    inner.load(sources)
    use_up_holes()


def prepare(main: str) -> None:
    """Prepares the image once everything is loaded. `main` is the author's module."""
    from . import environment

    files.forget_grants()
    environment.delay()
    # Each call has numbers of its own, also if a module has used some.
    random.seed()
    _kept.append(_arrange(main))
    next(_kept[-1])


def _arrange(main: str) -> Iterator[None]:
    from . import calls

    calls.make()
    # New code counts from the beginning: what has run afterwards is what calls run.
    code.move("")
    calls.make()
    use_up_holes()
    code.move(os.path.dirname(sys.modules[main].__file__ or ""))
    calls.make()
    immortal.note()
    calls.make()
    use_up_holes()
    calls.make()
    yield


def settle() -> None:
    """Called last, when what has prepared the image has ended and freed its own objects."""
    use_up_holes()
    # The collector leaves alone what is there now: to look at an object is to write into its page.
    gc.freeze()


def use_up_holes() -> None:
    _kept.append(holes.use_up())
    next(_kept[-1])
