"""Uses up the free memory between objects. What a call allocates then lies together, where the memory ends."""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Iterator

# Longer than most holes.
_LONG = 1 << 20
# From long ones to short ones: a short one would be cut from a long hole.
_LENGTHS = (*(1 << bits for bits in range(18, 9, -1)), *range(512, 16, -8))
_HEADER = sys.getsizeof(b"")


def use_up() -> Iterator[None]:
    """Suspended when it is done, since it holds what it has allocated."""
    # Both caches hold objects that the next call would free.
    sys._clear_internal_caches()
    gc.collect()
    held: deque[object] = deque()
    highest = max(map(id, gc.get_objects()))
    # One below an object that is used lies in a longer hole.
    while (end := id(piece := bytes(_LONG))) < highest:
        held.append(piece)
    del piece
    for length in _LENGTHS:
        while id(piece := bytes(length - _HEADER)) < end:
            held.append(piece)
    while id(piece := object()) < end:
        held.append(piece)
    yield
