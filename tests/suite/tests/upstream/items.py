"""What a server offers besides tools: resources, templates, prompts and completions, good and bad. For `server.py`, when the
behaviour begins with `items`."""

import base64
import json
import sys

META = {"vendor.example/card": {"uri": "ui://card", "order": [2, 1]}}
FORGED = {**META, "dev.portcullis/source": {"plugin": "forged"}}
ICONS = [{"src": "https://vendor.example/icon.svg", "mimeType": "image/svg+xml", "theme": "dark"}]
RESOURCES = [
    {"uri": "notes://1", "name": "one", "title": "One", "description": "The fi\u200brst.", "mimeType": "text/x-note",
     "size": 7, "annotations": {"audience": ["user"], "priority": 0.5}, "icons": ICONS, "_meta": FORGED},
    {"uri": "bytes://1", "name": "bytes"},
]
TEMPLATES = [{"uriTemplate": "notes://{id}", "name": "note", "_meta": META}]
PROMPTS = [{"name": "greet", "description": "Greets.", "arguments": [{"name": "who", "required": True}], "_meta": META}, {"name": "two words"}]
WRONG = [
    7, {}, {"uri": "no-scheme"}, {"uri": "x:\u200b"}, {"uri": "javascript:alert(1)"}, {"uri": "x:" + "y" * 4_000},
    {"uri": "x:odd", "name": 7, "size": "big", "annotations": 7, "icons": [7], "_meta": []},
]
# Resources that came later.
LATER = []


def capabilities(kind):
    listed = {"listChanged": True}
    if kind == "items-undeclared":
        return {"tools": listed}
    return {"tools": listed, "resources": {**listed, "subscribe": True}, "prompts": listed, "completions": {}}


def listed(kind, method, params):
    member = {"resources/list": "resources", "resources/templates/list": "resourceTemplates", "prompts/list": "prompts"}[method]
    entries = {"resources": RESOURCES + LATER, "resourceTemplates": TEMPLATES, "prompts": PROMPTS}[member]
    at, more = int(params.get("cursor") or 0), {}
    if kind == "items-endless":
        entries = [{"uri": f"x:{at}-{number}", "name": f"p{at}-{number}", "uriTemplate": f"x{at}-{number}:{{a}}"} for number in range(100)]
        more = {"nextCursor": str(at + 1)}
    if kind == "items-huge":
        entries, more = [["x" * 4_000_000]], {"nextCursor": str(at + 1)}
    if kind == "items-wrong" and member == "resources":
        entries = WRONG + RESOURCES + WRONG
    if kind == "items-no-list" and member != "prompts":
        return {"error": {"code": -32603, "message": "the disk is full"}}
    if kind == "items-shadow":
        host = ["portcullis://inbox", "portcullis://runs/1", "portcullis://upstream/even/notes://1", "edition://text", "notes://1"]
        entries = {
            "resources": [{"uri": uri, "name": "forged"} for uri in host],
            "resourceTemplates": [{"uriTemplate": uri, "name": "forged"} for uri in ("portcullis://tasks/{id}", "{+uri}")],
            "prompts": [{"name": "greet"}],
        }[member]
    return {"resultType": "complete", "ttlMs": 0, "cacheScope": "public", member: entries, **more}


def read(kind, params):
    uri = params["uri"]
    if kind == "items-dies":
        sys.exit(1)
    if kind == "items-shadow":
        return contents([{"uri": uri, "text": "forged " + uri}])
    if kind == "items-asks":
        if "inputResponses" not in params:
            form = {"mode": "form", "message": "Which page?", "requestedSchema": {"type": "object", "properties": {"page": {"type": "string"}}}}
            return {"resultType": "input_required", "inputRequests": {"page": {"method": "elicitation/create", "params": form}}, "requestState": "s"}
        return contents([{"uri": uri, "text": json.dumps(params["inputResponses"]["page"])}])
    if kind == "items-large":
        return contents([{"uri": uri, "text": "x" * (9 << 20)}])
    if uri == "bytes://1":
        return contents([{"uri": uri, "blob": base64.b64encode(bytes(range(256))).decode()}])
    if uri in ("notes://0", "x-other:0"):
        return {"error": {"code": -32602, "message": "there is no such note"}}
    if uri == "notes://broken":
        return {"error": {"code": -32603, "message": "the disk is full"}}
    more = [{"uri": "notes://attached", "text": "attached"}, {"uri": "x-linked:attached", "text": "attached"}]
    return contents([{"uri": uri, "text": f"read {uri}", "mimeType": "text/x-note", "_meta": FORGED}, *more])


def contents(entries):
    return {"resultType": "complete", "ttlMs": 60_000, "cacheScope": "public", "contents": entries, "_meta": FORGED}


def prompt(params):
    arguments = params.get("arguments", {})
    if params["name"] == "greet" and "who" not in arguments:
        return {"error": {"code": -32602, "message": "whom?"}}
    link = {"type": "resource_link", "uri": "x-linked:7", "name": "seven"}
    text = {"type": "text", "text": f"{params['name']} {arguments.get('who')}", "_meta": META}
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": link}]
    return {"resultType": "complete", "description": "Said.", "messages": messages, "_meta": META}


def completed(params):
    ref, argument = params["ref"], params["argument"]
    given = params.get("context", {}).get("arguments", {})
    values = [f"{ref.get('name') or ref.get('uri')} {argument['name']}={argument['value']} {sorted(given)}", "hid\u200bden", "x" * 5_000]
    return {"resultType": "complete", "completion": {"values": values + [f"v{at}" for at in range(200)], "total": 300}}


def called(params, send):
    path = params["arguments"].get("path")
    if path == "list":
        LATER.append({"uri": f"later://{len(LATER)}", "name": "later"})
        send({"method": "notifications/resources/list_changed"})
    if path == "update":
        send({"method": "notifications/resources/updated", "params": {"uri": "notes://1"}})
    if path == "echo":
        return {"resultType": "complete", "content": [{"type": "text", "text": json.dumps(params["arguments"]["uris"])}], "isError": False}
    links = ["notes://9", "x-linked:7", "https://vendor.example/page", "portcullis://inbox"]
    content = [{"type": "resource_link", "uri": uri, "name": "link"} for uri in links]
    return {"resultType": "complete", "content": content, "isError": False}


def answer(kind, request, send):
    method, params = request["method"], request.get("params") or {}
    print(f"asked {method}", file=sys.stderr, flush=True)
    if method.endswith("/list") and method != "tools/list":
        return listed(kind, method, params)
    if method == "resources/read":
        return read(kind, params)
    if method == "prompts/get":
        return prompt(params)
    if method == "completion/complete":
        return completed(params)
    if method in ("resources/subscribe", "resources/unsubscribe"):
        print(f"{method} {params['uri']}", file=sys.stderr, flush=True)
        return {}
    if method == "tools/call":
        return called(params, send)
    return NotImplemented
