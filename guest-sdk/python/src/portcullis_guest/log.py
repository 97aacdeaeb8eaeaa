"""Messages to the operator's log. The model does not see them."""

from typing import Literal

from .host import host

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


def write(level: Level, message: str) -> None:
    """Writes one record. Never waits; what is beyond the call's limits is counted and dropped."""
    host().log(level, message)


def debug(message: str) -> None:
    write("debug", message)


def info(message: str) -> None:
    write("info", message)


def notice(message: str) -> None:
    write("notice", message)


def warning(message: str) -> None:
    write("warning", message)


def error(message: str) -> None:
    write("error", message)
