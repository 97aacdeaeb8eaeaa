"""Messages of the user or the agent to a call that is already running. They are untrusted text."""

from collections.abc import Iterator

from . import host as _host


class Ended(Exception):
    """There will be no more messages."""


def next() -> str | None:
    """The next message, or None if there is none. Never waits."""
    return _host.host().next_message()


def receive(timeout: float | None = None) -> str:
    """Waits for the next message, at most `timeout` seconds; without a timeout, as long as the call may take. A task that waits
    without one may be suspended meanwhile. Raises TimeoutError, or Ended when there will be no more."""
    match _host.host().receive(timeout):
        case _host.Ended():
            raise Ended("there will be no more messages")
        case _host.TimedOut():
            raise TimeoutError("no message came in time")
        case message:
            return message


def messages() -> Iterator[str]:
    """All messages, until there will be no more."""
    while True:
        try:
            yield receive()
        except Ended:
            return
