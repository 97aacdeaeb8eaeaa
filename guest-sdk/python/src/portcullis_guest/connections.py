"""Accounts that users have connected: the host holds the credentials, and a plugin uses them without ever seeing them. The manifest
requests them, `connections = ["github"]`, and the operator grants them and sets them up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import encoding
from .errors import AccountError
from .host import Request, host
from .http import Response


def connected(name: str) -> bool:
    """Whether the user of this call has connected the account; `connect` asks for it."""
    return host().connected(name)


def get(name: str, path: str, **options: Any) -> Response:
    """As `request`, with GET."""
    return request("GET", name, path, **options)


def post(name: str, path: str, **options: Any) -> Response:
    """As `request`, with POST."""
    return request("POST", name, path, **options)


def request(
    method: str, name: str, path: str, *, headers: Mapping[str, str] | None = None, body: bytes | str = b"", json: Any = None
) -> Response:
    """Sends a request with the account's credentials, which the host adds; the method is GET, POST, PUT, PATCH or DELETE. `path` is
    path and query below the address of the connection. Redirects are not followed."""
    these = list((headers or {}).items())
    if json is not None:
        try:
            body = encoding.dumps(json)
        except (TypeError, ValueError) as error:
            raise AccountError("invalid", f"the request cannot be sent: the body cannot be written as JSON: {error}") from error
        these.insert(0, ("content-type", "application/json"))
    return host().send(name, Request(method, path, these, body.encode() if isinstance(body, str) else body))
