"""What is left to the call."""

from .host import host


def fuel_left() -> int | None:
    """Fuel, about one unit for each instruction; None if the call is metered by CPU time."""
    return host().fuel_left()


def deadline_left() -> float:
    """Seconds until the call is stopped."""
    return host().deadline_left() / 1_000
