"""Reads the variables that the operator grants when a call first looks at one. componentize-py reads them before the first call of an
interpreter, which is when the image is made."""

from __future__ import annotations

import os
from typing import Any

from wit_world.imports import environment

_VIEWS = (os.environ, os.environb)


class _Unread(os._Environ):  # type: ignore[type-arg]
    """The class of both views until then."""

    def __getattr__(self, name: str) -> Any:
        if name != "_data":
            raise AttributeError(name)
        data = {os.fsencode(key): os.fsencode(value) for key, value in environment.get_environment()}
        for view in _VIEWS:
            view.__class__ = os._Environ
            view._data = data  # type: ignore[attr-defined]
        return data


def delay() -> None:
    """Nothing of the build is left. Called once, before the image is taken."""
    # Python's own copy is not all: a variable that a module has set is in the C library, too.
    os.environ.clear()
    for view in _VIEWS:
        view.__class__ = _Unread
        del view._data  # type: ignore[attr-defined]
