"""Sockets that speak HTTP with the host. `urllib.request`, `requests`, `httpx` and all else that writes a request to a socket works by
them: the host sends the request where that was granted, and does the encryption. Nothing else is spoken, and nobody listens."""

from __future__ import annotations

import errno
import http
import io
import os
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .errors import HttpError
from .host import Request, host

# How much of an answer is read.
MAX_BODY = 16 << 20
# What belongs to a connection, of which the host has its own, and what the host knows from the address.
_OF_CONNECTION = {"connection", "host", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
_PORTS = {"http": 80, "https": 443}
_HEAD_ENDS = b"\r\n\r\n"

_System = socket.socket
_system_addresses, _system_wrap = socket.getaddrinfo, ssl.SSLContext.wrap_socket


class Socket:
    """A connection to one server. A request goes out when its answer is read."""

    def __init__(self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None) -> None:
        self.family, self.type, self.proto = socket.AF_INET, socket.SOCK_STREAM, 0
        self.scheme = "http"
        self._address: tuple[str, int] | None = None
        self._timeout: float | None = socket.getdefaulttimeout()
        self._written = bytearray()
        self._answer = io.BytesIO()

    def __enter__(self) -> Socket:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def connect(self, address: tuple[str, int]) -> None:
        self._address = (address[0], address[1])

    def send(self, data: Any, flags: int = 0) -> int:
        if self._address is None:
            raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))
        self._written += data
        return len(data)

    def sendall(self, data: Any, flags: int = 0) -> None:
        self.send(data, flags)

    def recv(self, size: int, flags: int = 0) -> bytes:
        if self._written:
            self._answer = io.BytesIO(self._exchange())
        return self._answer.read(size)

    def recv_into(self, buffer: Any, size: int = 0, flags: int = 0) -> int:
        data = self.recv(size or len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def makefile(self, mode: str = "r", *_: Any, **__: Any) -> io.BufferedReader:
        if mode != "rb":
            raise ValueError("these sockets are read as bytes; write to them by `sendall`")
        return io.BufferedReader(_Reader(self))

    def settimeout(self, timeout: float | None) -> None:
        self._timeout = timeout

    def gettimeout(self) -> float | None:
        return self._timeout

    def setblocking(self, blocks: bool) -> None:
        self._timeout = None if blocks else 0.0

    def setsockopt(self, *_: Any) -> None:
        pass

    def getsockopt(self, *_: Any) -> int:
        return 0

    def getpeername(self) -> tuple[str, int]:
        return self._address or ("", 0)

    def getsockname(self) -> tuple[str, int]:
        return ("", 0)

    def fileno(self) -> int:
        return -1

    def shutdown(self, how: int) -> None:
        pass

    def close(self) -> None:
        pass

    def bind(self, address: Any) -> None:
        raise PermissionError(errno.EACCES, "a plugin listens to nobody")

    listen = accept = bind

    # What is asked of an encrypted connection. The host has checked the certificate.
    def selected_alpn_protocol(self) -> str:
        return "http/1.1"

    def version(self) -> None:
        return None

    def _exchange(self) -> bytes:
        request = self._request()
        try:
            answer = host().http(request)
        except HttpError as error:
            if error.kind == "timeout":
                raise TimeoutError(str(error)) from error
            if error.kind == "failed":
                raise ConnectionError(str(error)) from error
            raise
        if answer.truncated:
            raise HttpError("exhausted", f"a limit was reached: the size of the answer's body is more than {MAX_BODY >> 20} MiB")
        reason = http.HTTPStatus(answer.status).phrase if answer.status in http.HTTPStatus._value2member_map_ else ""
        lines = [f"HTTP/1.1 {answer.status} {reason}", "connection: close"]
        lines += [f"{name}: {value}" for name, value in answer.headers if name.lower() not in _OF_CONNECTION]
        if request.method != "HEAD" and answer.status not in (204, 304):
            lines = [line for line in lines if not line.lower().startswith("content-length:")]
            lines.append(f"content-length: {len(answer.body)}")
        return "\r\n".join(lines).encode() + _HEAD_ENDS + answer.body

    def _request(self) -> Request:
        head, _, body = bytes(self._written).partition(_HEAD_ENDS)
        self._written.clear()
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, *_ = first.split(" ")
        given = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        if any(name.lower() == "transfer-encoding" for name, _ in given):
            body = b"".join(_chunks(body))
        headers = [(name, value) for name, value in given if name.lower() not in _OF_CONNECTION]
        return Request(method, self._url(target), headers, body, self._timeout or None, MAX_BODY)

    def _url(self, target: str) -> str:
        if not target.startswith("/"):
            raise HttpError("invalid", f"the request cannot be sent: there are no proxies here, and {target} is meant for one")
        name, port = self._address or ("", 0)
        name = f"[{name}]" if ":" in name else name
        return f"{self.scheme}://{name}{'' if port == _PORTS[self.scheme] else f':{port}'}{target}"


class _Reader(io.RawIOBase):
    """A socket as a file. It can be read when the socket is closed."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._socket.recv_into(buffer)


def _chunks(body: bytes) -> Iterator[bytes]:
    """A body that was written piece by piece, each with its length before it."""
    while found := re.match(rb"([0-9A-Fa-f]+)[^\r\n]*\r\n", body):
        length, start = int(found[1], 16), found.end()
        yield body[start : start + length]
        body = body[start + length + 2 :]


def _addresses(name: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0) -> list[Any]:
    """The host finds names out: one stays as it is."""
    name = name.decode() if isinstance(name, bytes) else name
    return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (name, int(port or 0)))]


def _socket(family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None) -> Any:
    return Socket(family, type, proto) if fileno is None else _System(family, type, proto, fileno)


def _wrap(context: Any, connection: Any, *rest: Any, **more: Any) -> Any:
    if not isinstance(connection, Socket):
        return _system_wrap(context, connection, *rest, **more)
    connection.scheme = "https"
    return connection


def install() -> None:
    """From now on, sockets are these."""
    socket.socket, socket.getaddrinfo = _socket, _addresses  # type: ignore[assignment, misc]
    ssl.SSLContext.wrap_socket = _wrap  # type: ignore[assignment, method-assign]


@contextmanager
def installed() -> Iterator[None]:
    """For a while."""
    before = socket.socket, socket.getaddrinfo, ssl.SSLContext.wrap_socket
    install()
    try:
        yield
    finally:
        socket.socket, socket.getaddrinfo, ssl.SSLContext.wrap_socket = before  # type: ignore[assignment, misc, method-assign]
