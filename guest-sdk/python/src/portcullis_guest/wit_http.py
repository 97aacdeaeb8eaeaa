"""Requests over wasi:http. Imported in WebAssembly only, where something is sent."""

from __future__ import annotations

import re

from componentize_py_types import Err
from wit_world.imports import outgoing_handler
from wit_world.imports import wasi_http_types as wasi
from wit_world.imports.streams import StreamError_Closed

from .errors import Denied, HttpError, ToolError
from .host import Request
from .http import Response

# The most bytes that WASI accepts in one write, and how many are read at once.
_WRITTEN, _READ = 4096, 64 << 10
_METHODS = {name.upper(): getattr(wasi, f"Method_{name}") for name in ("Get", "Head", "Post", "Put", "Delete", "Options", "Patch")}


def send(request: Request) -> Response:
    outgoing = _outgoing(request)
    body = outgoing.body() if request.body else None
    try:
        future = outgoing_handler.handle(outgoing, _options(request))
        if body is not None:
            _write(body, request.body)
        # A resource is gone when its block ends, and must be before the one that it was made from.
        with future.subscribe() as ready:
            ready.block()
        # The first look at the answer: there is one, and nobody has taken it.
        answer = future.get().value
        if isinstance(answer, Err):
            raise answer
        answer = answer.value
        headers = [(name, value.decode(errors="replace")) for name, value in answer.headers().entries()]
        found, truncated = _read(answer.consume(), request.max_body)
        return Response(answer.status(), headers, found, truncated)
    except Err as error:
        raise _error(error.value, request.target) from None


def _outgoing(request: Request) -> wasi.OutgoingRequest:
    scheme, separator, rest = request.url.partition("://")
    if not separator:
        raise _invalid("the URL has no scheme")
    if scheme not in ("https", "http"):
        raise _invalid("the scheme must be https or http")
    rest = rest.split("#")[0]
    at = re.search(r"[/?]|$", rest).start()
    authority, path = rest[:at], rest[at:] or "/"
    fields = wasi.Fields()
    headers = list(request.headers)
    if request.body and not any(name.lower() == "content-length" for name, _ in headers):
        headers.append(("content-length", str(len(request.body))))
    for name, value in headers:
        try:
            fields.append(name, value.encode())
        except Err as error:
            raise _invalid(f"the header `{name}`: {_name(error.value)}") from None
    outgoing = wasi.OutgoingRequest(fields)
    try:
        method = _METHODS.get(request.method)
        outgoing.set_method(method() if method else wasi.Method_Other(request.method))
        outgoing.set_scheme(wasi.Scheme_Https() if scheme == "https" else wasi.Scheme_Http())
        outgoing.set_authority(authority)
        outgoing.set_path_with_query(path)
    except Err:
        raise _invalid("the method or the URL is malformed") from None
    return outgoing


def _options(request: Request) -> wasi.RequestOptions | None:
    if request.timeout is None:
        return None
    options, time = wasi.RequestOptions(), round(request.timeout * 1e9)
    for set_timeout in (options.set_connect_timeout, options.set_first_byte_timeout, options.set_between_bytes_timeout):
        try:
            set_timeout(time)
        except Err:
            # A host that does not know one of these has its own.
            pass
    return options


def _write(body: wasi.OutgoingBody, data: bytes) -> None:
    with body.write() as stream:
        for at in range(0, len(data), _WRITTEN):
            try:
                stream.blocking_write_and_flush(data[at : at + _WRITTEN])
            except Err:
                # The server stopped reading; its answer says why.
                return
    wasi.OutgoingBody.finish(body, None)


def _read(body: wasi.IncomingBody, most: int) -> tuple[bytes, bool]:
    found = bytearray()
    with body.stream() as stream:
        while len(found) <= most:
            try:
                found += stream.blocking_read(_READ)
            except Err as error:
                if isinstance(error.value, StreamError_Closed):
                    return bytes(found), False
                code = wasi.http_error_code(error.value.value)
                raise Err(code or wasi.ErrorCode_HttpResponseIncomplete()) from None
    return bytes(found[:most]), True


_FAILURES = {
    wasi.ErrorCode_HttpRequestUriInvalid: ("invalid", "the request cannot be sent: the URL is none that is sent"),
    wasi.ErrorCode_HttpRequestUriTooLong: ("invalid", "the request cannot be sent: the URL is none that is sent"),
    wasi.ErrorCode_HttpRequestMethodInvalid: ("invalid", "the request cannot be sent: the method is none that is sent"),
    wasi.ErrorCode_ConnectionTimeout: ("timeout", "the other server did not answer in time"),
    wasi.ErrorCode_ConnectionReadTimeout: ("timeout", "the other server did not answer in time"),
    wasi.ErrorCode_HttpResponseTimeout: ("timeout", "the other server did not answer in time"),
    wasi.ErrorCode_ConnectionLimitReached: ("exhausted", "a limit was reached: requests of this call"),
    wasi.ErrorCode_HttpRequestBodySize: ("exhausted", "a limit was reached: the size of the request's body"),
    wasi.ErrorCode_HttpResponseBodySize: ("exhausted", "a limit was reached: the size of the answer's body"),
    wasi.ErrorCode_DestinationNotFound: ("failed", "the other server failed: its name cannot be resolved"),
    wasi.ErrorCode_ConnectionRefused: ("failed", "the other server failed: no connection could be made"),
}


def _error(code: wasi.ErrorCode, target: str) -> ToolError:
    if isinstance(code, wasi.ErrorCode_HttpRequestDenied):
        return Denied("http", target)
    if isinstance(code, wasi.ErrorCode_InternalError) and code.value:
        return HttpError("failed", f"the other server failed: {code.value}")
    return HttpError(*_FAILURES.get(type(code), ("failed", f"the other server failed: {_name(code)}")))


def _invalid(why: str) -> HttpError:
    return HttpError("invalid", f"the request cannot be sent: {why}")


def _name(code: object) -> str:
    return type(code).__name__.partition("_")[2]
