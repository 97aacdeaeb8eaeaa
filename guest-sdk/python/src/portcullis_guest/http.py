"""Requests to other servers, which the host sends where the operator granted it.

Write one of the operator's secrets by name into the value of a header, as `{{secret:example}}`: the host puts it in on the
way, and the plugin never sees it. Redirects are followed if they are granted.
"""

import json as _json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import encoding, reading
from .errors import HttpError, InvalidArguments
from .host import Request, host

__all__ = ["HttpError", "Request", "Response", "get", "post", "request"]

# How much of an answer is read, unless it is said otherwise.
MAX_BODY = 4 << 20


@dataclass
class Response:
    """An answer with any status. Names of headers are in lower case."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    # Whether the body was cut at `max_body`.
    truncated: bool = False

    def header(self, name: str) -> str | None:
        """The first header of this name."""
        return next((value for known, value in self.headers if known.lower() == name.lower()), None)

    @property
    def ok(self) -> bool:
        return 200 <= self.status <= 299

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    def json(self, kind: Any = Any) -> Any:
        """The body, read as JSON; with a type such as a dataclass, as that."""
        try:
            return reading.read(kind, _json.loads(self.body), "the answer")
        except (ValueError, InvalidArguments) as error:
            raise HttpError("unexpected-response", f"the other server's answer is not what was expected: {error}") from error

    def raise_for_status(self) -> "Response":
        """The response itself, if its status is a success."""
        if not self.ok:
            raise HttpError("status", f"the other server answered with status {self.status}")
        return self


def get(url: str, **options: Any) -> Response:
    """As `request`, with GET."""
    return request("GET", url, **options)


def post(url: str, **options: Any) -> Response:
    """As `request`, with POST."""
    return request("POST", url, **options)


def request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | str = b"",
    json: Any = None,
    timeout: float | None = None,
    max_body: int = MAX_BODY,
) -> Response:
    """Sends a request and reads the answer, which may have any status. `timeout` is in seconds."""
    these = list((headers or {}).items())
    if json is not None:
        try:
            body = encoding.dumps(json)
        except (TypeError, ValueError) as error:
            raise HttpError("invalid", f"the request cannot be sent: the body cannot be written as JSON: {error}") from error
        these.insert(0, ("content-type", "application/json"))
    data = body.encode() if isinstance(body, str) else body
    return host().http(Request(method, url, these, data, timeout, max_body))
