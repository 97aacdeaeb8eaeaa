"""A server over stdio whose tool `run` is a task, and which says what few servers do about it.

    server.py KIND FOLDER

KIND names how it behaves. What it counts is in files of FOLDER, so that it outlives its process.
"""

import json
import os
import sys
import time

KIND, FOLDER = sys.argv[1:]
TASKS = "io.modelcontextprotocol/tasks"
CLIENT_TOOLS = "dev.portcullis/client-tools"
TASK = {"taskId": "t-1", "createdAt": "2026-11-26T00:00:00Z", "lastUpdatedAt": "2026-11-26T00:00:00Z", "ttlMs": None, "pollIntervalMs": 0}
FORM = {"mode": "form", "message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}
SAMPLE = {"maxTokens": 10, "messages": [{"role": "user", "content": {"type": "text", "text": "Who?"}}]}


def count(what, add=1):
    """How often something happened, in all processes."""
    path = os.path.join(FOLDER, what)
    times = (int(open(path).read()) if os.path.exists(path) else 0) + add
    with open(path, "w") as file:
        file.write(str(times))
    return times


def text(said):
    return {"content": [{"type": "text", "text": said}], "isError": False}


def completed(said):
    return {"resultType": "complete", **TASK, "status": "completed", "result": text(said)}


def working(**more):
    return {"resultType": "complete", **TASK, "status": "working", **more}


def asking(keys, method="elicitation/create", params=FORM):
    asked = {key: {"method": method, "params": params} for key in keys}
    return {"resultType": "complete", **TASK, "status": "input_required", "inputRequests": asked}


def outcomes(brought=None):
    """The outcomes of the calls of the client's tools, by key. Some are stored, in all processes."""
    path = os.path.join(FOLDER, "outcomes")
    stored = json.load(open(path)) if os.path.exists(path) else {}
    if brought:
        stored.update(brought)
        with open(path, "w") as file:
            json.dump(stored, file)
    return stored


def calling():
    calls = {key: {"name": "echo.run", "arguments": {"n": n}, "plugin": "p"} for key, n in [("a", 1), ("b", 2)]}
    left = {key: call for key, call in calls.items() if key not in outcomes()}
    if not left:
        return completed(json.dumps(outcomes(), sort_keys=True))
    # Now and then nothing is listed, as after a restart.
    return working() if count("lists") % 3 == 2 else {**asking([]), "_meta": {CLIENT_TOOLS: {"toolCalls": left}}}


def take(results):
    if KIND == "refuses-outcomes" and any("content" in outcome for outcome in results.values()):
        return None
    if KIND == "loses-outcomes" and results and count("brought") == 1:
        return {"resultType": "complete"}
    outcomes(results)
    return {"resultType": "complete"}


def look():
    looks = count("looks")
    if KIND == "dies" and looks in (1, 2):
        sys.exit(1)
    if KIND == "hurried" and looks < 10:
        return working(statusMessage="x" * 100_000)
    if KIND == "hurried":
        took = time.monotonic() - BEGAN
        return completed(f"10 looks took {'long' if took > 0.8 else 'not long'}")
    if KIND in ("slow-to-hear", "refuses-answers"):
        return asking(["one"]) if looks < 6 else completed(f"{count('updates', 0)} answers")
    if KIND in ("calls-tools", "loses-outcomes", "refuses-outcomes"):
        return calling()
    if KIND == "starts-again":
        # Its second run has not come to the question yet when the answer is there.
        return working() if looks == 2 else completed("it has the answer") if count("updates", 0) else asking(["one"])
    if KIND == "many-questions":
        return asking(map(str, range(200)))
    if KIND == "asks-a-model":
        return asking(["one"], "sampling/createMessage", SAMPLE)
    if KIND == "other-result":
        return {"resultType": "complete", "content": []}
    if KIND == "bad-result":
        return {**completed(""), "result": {"content": "?"}}
    if KIND == "fails":
        return {"resultType": "complete", **TASK, "status": "failed", "error": {"code": -32603, "message": "the\u001b[2J disk is full"}}
    return completed("done")


def answer(method, params):
    if method == "server/discover":
        capabilities = {"tools": {}, "extensions": {} if KIND == "unasked" else {TASKS: {}}}
        return {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private"}
    if method == "tools/list":
        tool = {"name": "run", "description": "Runs.", "inputSchema": {"type": "object"}}
        return {"resultType": "complete", "tools": [tool], "ttlMs": 0, "cacheScope": "private"}
    declared = params["_meta"]["io.modelcontextprotocol/clientCapabilities"].get("extensions", {})
    if method == "tools/call" and KIND == "says-what-is-declared":
        return {"resultType": "complete", **text("tasks" if TASKS in declared else "no tasks")}
    if method == "tools/call":
        return {"resultType": "task", **TASK, "status": "working", "taskId": "t" * 10_000 if KIND == "long-id" else "t-1"}
    if not method.startswith("tasks/"):
        return None
    assert TASKS in declared, "each request about a task has to declare the extension"
    if KIND == "calls-tools":
        assert declared[CLIENT_TOOLS]["allowServerCalls"] is True, "so that the server shows calls"
    if method == "tasks/get":
        return look()
    if method == "tasks/update":
        count("updates")
        if KIND == "refuses-answers":
            return None
        return take(params["_meta"].get(CLIENT_TOOLS, {}).get("results", {}))
    if method == "tasks/cancel":
        count("cancelled")
        return {"resultType": "complete"}
    return None


BEGAN = time.monotonic()
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request or "method" not in request:
        continue
    result = answer(request["method"], request.get("params") or {})
    outcome = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **outcome}), flush=True)
