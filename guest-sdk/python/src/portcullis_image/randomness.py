"""Seeds `random` when a call first uses it. To seed it before each call would take longer than a small tool, and most tools use no random
numbers."""

from __future__ import annotations

import random
from typing import Any

_shared: Any = random._inst  # type: ignore[attr-defined]
# Python seeds it when it is made.
_is_seeded = True


class _Unseeded(random.Random):
    """The class of the shared generator until it is seeded. All that it offers is made of these."""

    def random(self) -> float:
        return _seeded().random()

    def getrandbits(self, k: int, /) -> int:
        return _seeded().getrandbits(k)

    def getstate(self) -> tuple[Any, ...]:
        return _seeded().getstate()

    def setstate(self, state: tuple[Any, ...]) -> None:
        _of_known_state().setstate(state)


def delay() -> None:
    """Called before anybody can have taken these functions from their module."""
    random.seed = _seed
    random.random = lambda: _shared.random()
    random.getrandbits = lambda k, /: _shared.getrandbits(k)
    random.getstate = lambda: _shared.getstate()
    random.setstate = lambda state: _shared.setstate(state)


def _seed(a: Any = None, version: int = 2) -> None:
    global _is_seeded
    if a is not None:
        _of_known_state().seed(a, version)
    elif _is_seeded:
        _is_seeded = False
        _shared.__class__ = _Unseeded
        _shared.gauss_next = None


def _seeded() -> Any:
    _of_known_state().seed()
    return _shared


def _of_known_state() -> Any:
    global _is_seeded
    _is_seeded = True
    _shared.__class__ = random.Random
    return _shared
