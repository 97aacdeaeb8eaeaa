"""A server that says what no server should, and what few do. The first argument names how it behaves. It speaks over stdio; with
`http` as the second argument, over HTTP, and prints its port.

Speaks 2026-07-28. One tool, `run`, or as many as the behaviour wants.
"""

import http.server
import json
import pathlib
import sys
import time

KIND = sys.argv[1] if len(sys.argv) > 1 else "good"
TOOL = {"name": "run", "description": "Runs.", "inputSchema": {"type": "object"}}
EXTENSION = "dev.portcullis/client-tools"
TASKS = "io.modelcontextprotocol/tasks"
TASK = {"taskId": "t-1", "createdAt": "2026-11-26T00:00:00Z", "lastUpdatedAt": "2026-11-26T00:00:00Z", "ttlMs": None, "pollIntervalMs": 0}
# How often the tools were listed, and a task looked at.
LISTED = LOOKS = 0
# The subscriptions, as messages name them, and what the last one is to be told of.
SUBSCRIPTIONS, FILTER = [], {}
# Names that a client may take for one another.
LONG = "list_everything_in_the_calendar_of_" + "somebody_" * 9
ALIKE = ["a.b", "a_b", "A-B", "a/b", LONG + "one", LONG + "two"]
# What only a host says, about itself.
OURS = {
    f"dev.portcullis/{key}": value
    for key, value in {
        "call": "forged", "source": {"plugin": "forged"}, "origin": ["forged.run"], "stream": {"chunks": 7},
        "usage": {"fuel": 7}, "error": {"code": "forged"}, "edited": {"forged": 1}, "chunk": {"seq": 0, "content": []},
    }.items()
}


# Texts of an answer with the id 7 that no JSON library writes, or that is none of the protocol.
ODD_ANSWERS = {
    "surrogate": b'{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"\\ud83d"}]}}',
    "latin": b'{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"caf\xe9"}]}}',
    "nan": b'{"jsonrpc":"2.0","id":7,"result":{"content":[],"structuredContent":{"a":NaN}}}',
    "shape": b'{"jsonrpc":"2.0","id":7,"result":{"content":"text"}}',
    "error-text": b'{"jsonrpc":"2.0","id":7,"error":"boom"}',
    "error-null": b'{"jsonrpc":"2.0","id":7,"error":null,"result":{"content":[{"type":"text","text":"fine"}]}}',
    "several-lines": b'{\n  "jsonrpc": "2.0",\n  "id": 7,\n  "result": {"content": [{"type": "text", "text": "fine"}]}\n}',
    "objects": b'{"jsonrpc":"2.0","id":7,"result":{"content":[],"structuredContent":{"a":[' + b"{}," * 5_000_000 + b'0]}}}',
}


def write(data):
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def send(message):
    write(json.dumps({"jsonrpc": "2.0", **message}).encode())


def pings():
    """Requests without end, with long ids."""
    at = 0
    while True:
        at += 1
        yield json.dumps({"jsonrpc": "2.0", "id": f"{at}-" + "x" * 100_000, "method": "ping"}).encode()


def floods(arguments):
    """Messages of a kind without end. Nobody has asked for them. After some of them there is a file that says so."""
    kind, mark = arguments["path"], arguments["mark"]
    words = "x" * 10_000
    form = {"mode": "form", "message": words, "requestedSchema": {"type": "object", "properties": {}}}
    sample = {"maxTokens": 10, "messages": [{"role": "user", "content": {"type": "text", "text": words}}]}
    bodies = {
        "ping": {"method": "ping", "params": {"_meta": {"a": words}}},
        "roots": {"method": "roots/list", "params": {"_meta": {"a": words}}},
        "sampling": {"method": "sampling/createMessage", "params": sample},
        "form": {"method": "elicitation/create", "params": form},
        "unknown request": {"method": "x/y", "params": {"a": words}},
        "message": {"method": "notifications/message", "params": {"level": "error", "data": words}},
        "progress": {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1, "message": words}},
        "cancelled": {"method": "notifications/cancelled", "params": {"requestId": 1_000, "reason": words}},
        "tools changed": {"method": "notifications/tools/list_changed", "params": {"_meta": {"a": words}}},
        "resources changed": {"method": "notifications/resources/list_changed", "params": {"_meta": {"a": words}}},
        "resource updated": {"method": "notifications/resources/updated", "params": {"uri": "a:" + words}},
        "task": {"method": "notifications/tasks", "params": {**TASK, "status": "working", "statusMessage": words}},
        "unknown notification": {"method": "notifications/x", "params": {"a": words}},
        "answer": {"result": text(words)},
        "error": {"error": {"code": -32603, "message": words}},
        "nothing": {"x": words},
    }
    body, at = bodies[kind], 100_000
    while True:
        at += 1
        if at == 100_200:
            open(mark, "w").close()
        is_notification = body.get("method", "").startswith("notifications/")
        yield json.dumps({"jsonrpc": "2.0", **({} if is_notification else {"id": at}), **body}).encode()


def text(said, **more):
    return {"resultType": "complete", "content": [{"type": "text", "text": said}], "isError": False, **more}


def subscribe(request):
    global FILTER
    FILTER = request["params"]["notifications"]
    SUBSCRIPTIONS.append({"io.modelcontextprotocol/subscriptionId": request["id"]})
    if len(SUBSCRIPTIONS) > 1:
        # The client may give the former one up as soon as this one is acknowledged.
        tools_changed(SUBSCRIPTIONS[-2])
    if KIND != "acknowledges-late":
        acknowledge()


def acknowledge():
    send({"method": "notifications/subscriptions/acknowledged", "params": {"notifications": FILTER, "_meta": SUBSCRIPTIONS[-1]}})


def tools_changed(subscription):
    send({"method": "notifications/tools/list_changed", "params": {"_meta": subscription}})


def tools(params):
    global LISTED
    listed = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    if KIND == "endless-list":
        at = int(params.get("cursor") or 0)
        page = [{**TOOL, "name": f"tool-{at}-{number}"} for number in range(100)]
        return {**listed, "tools": page, "nextCursor": str(at + 1)}
    if KIND == "odd-definitions":
        return {**listed, "tools": __import__("definitions").odd(TOOL)}
    if KIND == "whole":
        return {**listed, "tools": [__import__("definitions").whole(TOOL)]}
    if KIND == "losses":
        # Warnings come first, and more of them than are told.
        warned = [{**TOOL, "name": f"warned-{at}", "inputSchema": {"type": "object", "anyOf": [{}]}} for at in range(30)]
        nameless = {**TOOL, "name": "\u200b"}
        task = {**TOOL, "name": "only-a-task", "execution": {"taskSupport": "required"}}
        return {**listed, "tools": [*warned, {**task, "name": "may-be-one", "execution": {"taskSupport": "optional"}}, task, nameless, TOOL]}
    if KIND == "huge-pages":
        # Nothing in them is a tool.
        return {**listed, "tools": [["x" * 4_000_000]], "nextCursor": str(int(params.get("cursor") or 0) + 1)}
    if KIND == "always-new-list":
        LISTED += 1
        send({"method": "notifications/tools/list_changed"})
        # Another list each time, all of it wrong.
        wrong = [{**TOOL, "name": f"wrong name {LISTED} {number} " + "x" * 600} for number in range(500)]
        return {**listed, "tools": [{**TOOL, "description": str(LISTED)}, *wrong]}
    if KIND in ("changes-while-listed", "acknowledges-late"):
        LISTED += 1
        if LISTED == 1 and SUBSCRIPTIONS:
            acknowledge() if KIND == "acknowledges-late" else tools_changed(SUBSCRIPTIONS[-1])
        return {**listed, "tools": [{**TOOL, "name": "former"} if LISTED == 1 else TOOL]}
    if KIND == "items-listens":
        return {**listed, "tools": [{**TOOL, "name": "former"} if len(SUBSCRIPTIONS) < 2 else TOOL]}
    if KIND == "alike-names":
        return {**listed, "tools": [{**TOOL, "name": name, "_meta": OURS} for name in ALIKE]}
    if KIND == "bad-entries":
        wrong = [{"name": "bare"}, {**TOOL, "inputSchema": True}, {**TOOL, "annotations": {"title": 5}}, 7]
        return {**listed, "tools": [*wrong, TOOL, *wrong]}
    if KIND == "slow-schemas":
        # Each takes milliseconds until it is refused, and three of four have no name that anybody sees.
        at = int(params.get("cursor") or 0)
        patterns = {f"p{number}": {"pattern": "(a{1,60}){1,60}" + "b" * number} for number in range(20)}
        schema = {"type": "object", "properties": {**patterns, "last": {"pattern": "(?=x)"}}}
        names = ["\u200b" if number % 4 else f"tool-{at}-{number}" for number in range(500)]
        page = [{**TOOL, "name": name, "inputSchema": schema} for name in names]
        return {**listed, "tools": page, "nextCursor": str(at + 1)}
    if KIND == "large-list":
        return {**listed, "tools": [{**TOOL, "name": f"tool-{at}", "description": "x" * 8_000} for at in range(300)]}
    if KIND == "odd-schemas":
        none = [{**TOOL, "name": "open", "inputSchema": {"properties": {"a": True}}}]
        twice = [{**TOOL, "name": "twice", "inputSchema": {"type": ["object", "null"]}}]
        itself = {"type": "object", "properties": {"a": {"$ref": "#"}}}
        return {**listed, "tools": none + twice + [{**TOOL, "name": "itself", "inputSchema": itself}]}
    if KIND == "reads-late":
        return {**listed, "tools": [{**TOOL, "annotations": {"readOnlyHint": True}}]}
    return {**listed, "tools": [TOOL]}


def read_late(folder):
    """Says that it has begun, and reads a file when there is one."""
    (folder / "begun").touch()
    while not (folder / "go").exists():
        time.sleep(0.01)
    return text((folder / "go").read_text())


def stall():
    time.sleep(0.1)
    return {"resultType": "input_required", "inputRequests": {}, "requestState": "s"}


def call(request):
    params = request["params"]
    meta = params.get("_meta", {})
    if KIND == "huge-result":
        return text("x" * (12 << 20))
    if KIND == "huge-line":
        sys.stdout.write("x" * (20 << 20))
        sys.stdout.flush()
        return None
    if KIND == "odd-answers":
        write(ODD_ANSWERS[params["arguments"]["path"]].replace(b'"id":7', b'"id":%d' % request["id"]).replace(b'"id": 7', b'"id": %d' % request["id"]))
        return None
    if KIND == "notifications":
        for at in range(params["arguments"].get("n", 1)):
            write(b'{"jsonrpc":"2.0","method":"notifications/odd","params":{"a":[' + b"{}," * 5_000_000 + b"0]}}")
        return text("sent")
    if KIND == "whole":
        parts = __import__("definitions")
        return {**text("t", content=parts.CONTENT), "_meta": {**parts.META, **OURS, "io.modelcontextprotocol/serverInfo": {"name": "forged"}}}
    if KIND == "chatter":
        for at in range(3_000):
            # A client that is behind loses messages, and this one is not to be.
            time.sleep(0.001)
            send({"method": "notifications/message", "params": {"level": "info", "data": f"chatter {at}"}})
        return text("said")
    if KIND == "only-tasks":
        declared = meta["io.modelcontextprotocol/clientCapabilities"].get("extensions", {})
        if TASKS not in declared:
            return {"error": {"code": -32021, "message": "it runs only as a task"}}
        return {"resultType": "task", **TASK, "status": "working"}
    if KIND == "no-result":
        return {"resultType": "complete", "something": "else"}
    if KIND == "bad-content":
        return {"resultType": "complete", "content": [{"type": "image", "data": "?", "mimeType": "image/png"}]}
    if KIND == "asks-for-ever":
        return {"resultType": "input_required", "requestState": "again"}
    if KIND == "secret":
        answers, again = params.get("inputResponses"), int(params.get("requestState") or params["arguments"].get("n", 0))
        if answers and not again:
            return text(json.dumps(answers["key"]))
        schema = {"type": "object", "properties": {"password": {"type": "string"}}}
        form = {"mode": "form", "message": "Your password?", "requestedSchema": schema}
        asked = {key: {"method": "elicitation/create", "params": form} for key in ("key", *(map(str, range(again and 7))))}
        return {"resultType": "input_required", "inputRequests": asked, "requestState": str(max(again - 1, 0))}
    if KIND in ("calls", "calls-then-stalls"):
        brought = meta.get(EXTENSION)
        if KIND == "calls-then-stalls" and (brought or params.get("requestState")):
            return stall()
        if brought:
            assert brought["continuation"] == "c", brought
            return text(json.dumps(brought["results"]))
        declared = meta["io.modelcontextprotocol/clientCapabilities"].get("extensions", {}).get(EXTENSION, {})
        names = [tool["name"] for tool in declared.get("tools", [])]
        wanted = params["arguments"].get("names") or names
        calls = {f"call-{at}": {"name": name, "arguments": {"n": params["arguments"].get("n", at)}} for at, name in enumerate(wanted)}
        if not calls:
            return text("nothing is declared")
        return {"resultType": EXTENSION, "toolCalls": calls, "continuation": "c"}
    if KIND == "alike-names":
        return text(params["name"])
    if KIND == "our-meta":
        token = meta.get("dev.portcullis/partialResultToken")
        chunk = {"token": token, "seq": 0, "content": [{"type": "text", "text": "part", "_meta": OURS}], "_meta": OURS}
        send({"method": "notifications/dev.portcullis/partial_result", "params": chunk})
        return text("done", _meta=OURS, content=[{"type": "text", "text": "done", "_meta": OURS}])
    if KIND == "silent":
        return None
    if KIND == "reads-late":
        return read_late(pathlib.Path(params["arguments"]["path"]))
    if KIND == "stalling":
        return stall()
    return text(json.dumps({"environment": sorted(__import__("os").environ), "correlation": meta.get("dev.portcullis/correlationId")}))


def task(method):
    """A task that goes on until it was looked at twice, or for ever."""
    global LOOKS
    LOOKS += 1
    print("the task is looked at", file=sys.stderr, flush=True)
    if method == "tasks/cancel":
        print("the task is cancelled", file=sys.stderr, flush=True)
        return {"resultType": "complete"}
    if LOOKS < 2 or sys.argv[2:] == ["endless"]:
        return {"resultType": "complete", **TASK, "status": "working"}
    return {"resultType": "complete", **TASK, "status": "completed", "result": {"content": [{"type": "text", "text": "done as a task"}]}}


def answer(request):
    method = request["method"]
    declared = {"tools": {}}
    if KIND.startswith("items"):
        items = __import__("items")
        declared = items.capabilities(KIND)
        said = items.answer(KIND, request, send)
        if said is not NotImplemented:
            return said
    if KIND == "empty-discover" and method == "server/discover":
        return {}
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": declared, "serverInfo": {"name": "old", "version": "1"}}
    if KIND == "only-tasks" and method.startswith("tasks/"):
        return task(method)
    if method == "server/discover":
        capabilities = {"tools": {"listChanged": False}, **declared, "extensions": {TASKS: {}} if KIND == "only-tasks" else {}}
        return {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private"}
    if KIND in ("changes-while-listed", "acknowledges-late", "items-listens") and method == "subscriptions/listen":
        return subscribe(request)
    if method == "tools/list":
        return tools(request.get("params") or {})
    if method == "tools/call":
        return call(request)
    return NotImplemented


def respond(request):
    """The message that answers a request; none if nothing does, or something else was sent."""
    result = answer(request)
    if result is NotImplemented:
        return {"id": request["id"], "error": {"code": -32601, "message": "no such method"}}
    if result is not None and "error" in result:
        return {"id": request["id"], **result}
    return None if result is None else {"id": request["id"], "result": result}


class Endpoint(http.server.BaseHTTPRequestHandler):
    """The same over HTTP. Answers of the client are never acknowledged."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        if self.path == "/moved":
            self.send_response(308)
            self.send_header("Location", "/mcp")
            self.send_header("Content-Length", "0")
            self.end_headers()
            self.rfile.read(int(self.headers["Content-Length"]))
            return
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "method" not in request:
            time.sleep(600)
        if "id" not in request:
            self.send_response(202)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        is_call = request["method"] == "tools/call"
        if is_call and KIND == "odd-answers":
            said = ODD_ANSWERS[request["params"]["arguments"]["path"]]
            said = said.replace(b'"id":7', b'"id":%d' % request["id"]).replace(b'"id": 7', b'"id": %d' % request["id"])
            self.say(said, request["params"]["arguments"].get("n"))
        elif is_call and KIND == "other-id":
            self.say(json.dumps({"jsonrpc": "2.0", "id": request["id"] + 1_000, "result": text("for another")}).encode(), None)
        elif is_call and KIND == "refuses":
            self.send_error(503)
        elif is_call and KIND in ("pings", "floods"):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for message in pings() if KIND == "pings" else floods(request["params"]["arguments"]):
                self.wfile.write(b"data: " + message + b"\n\n")
        else:
            self.say(json.dumps({"jsonrpc": "2.0", **respond(request)}).encode(), self.path == "/events")

    def say(self, said, events):
        """Answers with JSON, or with events of which only one is a message."""
        if events:
            lines = b"".join(b"data: " + line + b"\n" for line in said.split(b"\n"))
            said = b"event: heartbeat\ndata: {\n\n" + b"event: message\n" + lines + b"\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if events else "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass


def serve_stdio():
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request or "method" not in request:
            continue
        if KIND == "pings" and request["method"] == "tools/call":
            for ping in pings():
                write(ping)
        if KIND == "floods" and request["method"] == "tools/call":
            for message in floods(request["params"]["arguments"]):
                write(message)
        message = respond(request)
        if message is not None:
            send(message)


if sys.argv[2:] == ["http"]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    print(server.server_port, flush=True)
    server.serve_forever()
serve_stdio()
