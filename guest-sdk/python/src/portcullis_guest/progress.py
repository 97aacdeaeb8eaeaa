"""Progress of a call."""

from .host import host


def report(done: float, total: float | None = None, message: str | None = None) -> None:
    """Reports that `done` of `total` is done, in any unit. `done` must grow; never waits."""
    host().progress(float(done), None if total is None else float(total), message)
