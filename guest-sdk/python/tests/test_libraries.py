"""Libraries that send requests reach the host by their sockets."""

import http.client
import json
import socket
import ssl
import urllib.error
import urllib.request

import pytest
from portcullis_guest import Denied
from portcullis_guest import http as our_http
from portcullis_guest.errors import HttpError
from portcullis_guest.testing import Host

URL = "https://api.example.com"


def within(work, **host):
    """What a function returns or raises in a call."""
    found = Host(**host)
    return found, lambda: found._within(work)


def echo(request):
    body = {"method": request.method, "url": request.url, "body": request.body.decode()}
    return our_http.Response(200, [("content-type", "application/json"), ("content-length", "9"), ("transfer-encoding", "chunked")], json.dumps(body).encode())


def test_urllib_sends_by_the_host():
    def work():
        asked = urllib.request.Request(f"{URL}/a?b=1", data=b"hello", headers={"X-Key": "{{secret:key}}"}, method="PUT")
        return json.load(urllib.request.urlopen(asked, timeout=7))

    host, run = within(work, http=echo)
    assert run() == {"method": "PUT", "url": f"{URL}/a?b=1", "body": "hello"}
    (request,) = host.requests
    assert request.timeout == 7 and ("X-Key", "{{secret:key}}") in request.headers
    assert not {"host", "connection"} & {name.lower() for name, _ in request.headers}, "these are the host's"


def test_a_connection_sends_several_requests():
    def work():
        connection = http.client.HTTPConnection("api.example.com", 8080)
        found = []
        for body in (b"one", iter([b"tw", b"o"])):
            connection.request("POST", "/x", body=body, encode_chunked=True)
            found.append(json.load(connection.getresponse())["body"])
        return found

    host, run = within(work, http=echo)
    assert run() == ["one", "two"]
    assert [one.url for one in host.requests] == ["http://api.example.com:8080/x"] * 2


def test_statuses_and_redirects_are_those_of_the_library():
    def answer(request):
        if request.url.endswith("/old"):
            return our_http.Response(302, [("location", "/new")], b"")
        return our_http.Response(418, [], b"short and stout")

    host, run = within(lambda: urllib.request.urlopen(f"{URL}/old"), http=answer)
    with pytest.raises(urllib.error.HTTPError) as refused:
        run()
    assert refused.value.code == 418 and refused.value.read() == b"short and stout"
    assert [one.url for one in host.requests] == [f"{URL}/old", f"{URL}/new"]


def test_a_head_has_no_body_but_its_length():
    def work():
        with urllib.request.urlopen(urllib.request.Request(URL, method="HEAD")) as answer:
            return answer.headers["content-length"], answer.read()

    _, run = within(work, http=lambda _: our_http.Response(200, [("content-length", "12")], b""))
    assert run() == ("12", b"")


def test_failures_are_those_that_libraries_know():
    def failing(kind):
        def answer(_):
            raise HttpError(kind, "the other server failed")

        return within(lambda: urllib.request.urlopen(URL), http=answer)[1]

    with pytest.raises(TimeoutError):
        failing("timeout")()
    with pytest.raises(ConnectionError, match="the other server failed"):
        failing("failed")()
    with pytest.raises(HttpError):
        failing("exhausted")()


def test_what_is_not_granted_is_denied():
    _, run = within(lambda: urllib.request.urlopen(f"{URL}/x"))
    with pytest.raises(Denied, match="GET https://api.example.com/x"):
        run()


def test_a_plugin_listens_to_nobody_and_sockets_are_back_after_a_call():
    before = socket.socket, socket.getaddrinfo, ssl.SSLContext.wrap_socket

    def work():
        with socket.socket() as one, pytest.raises(PermissionError):
            one.bind(("", 80))
        with socket.socket() as other, pytest.raises(OSError):
            other.send(b"x")
        return socket.getaddrinfo("api.example.com", 443)[0][4]

    assert within(work)[1]() == ("api.example.com", 443)
    assert before == (socket.socket, socket.getaddrinfo, ssl.SSLContext.wrap_socket)
