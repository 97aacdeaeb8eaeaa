"""Output while a call is still running."""

from .content import Pieces, piece
from .host import host


def emit(*content: Pieces) -> int:
    """Sends one chunk, of one piece of content or several, and returns its number, counted from 0.

    Waits while the reader is slower. Chunks show work in progress; the result must be complete without them.
    """
    return host().emit([piece(one) for one in content])
