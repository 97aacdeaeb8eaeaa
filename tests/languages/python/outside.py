"""Tools of the agent, kept values, other servers."""

from dataclasses import dataclass
from typing import Annotated, Literal

from portcullis_guest import agent_tools, connect, connections, http, state, tool


@tool
def delegate(
    tool: str, path: str | None = None, n: Annotated[str | None, "A number, or what the tool refuses."] = None
) -> str:
    """Calls a tool of the agent."""
    arguments: dict[str, str | int] = {}
    if path is not None:
        arguments["path"] = path
    if n is not None:
        arguments["n"] = int(n) if n.isdigit() else n
    said = agent_tools.call(tool, arguments)
    return f'{tool} said "{said["path"]}" and {said["n"]}'


@tool
def keep(action: Literal["set", "get", "remove", "list", "count"], key: str, value: str | None = None) -> str:
    """Keeps values."""
    match action:
        case "set":
            state.set(key, value or "")
            return "kept"
        case "get":
            kept = state.get(key)
            return "nothing" if kept is None else kept.decode()
        case "remove":
            return "removed" if state.remove(key) else "nothing"
        case "list":
            return ", ".join(state.keys(key))
        case "count":
            return str(state.update(key, lambda count: (count or 0) + 1))


@dataclass
class Fetched:
    status: int
    kind: str | None
    truncated: bool
    text: str


@tool(open_world=True)
def fetch(path: str, body: str | None = None) -> Fetched:
    """Fetches a page."""
    url, options = f"http://localhost:8444{path}", {"headers": {"x-polyglot": "yes"}, "max_body": 20}
    response = http.get(url, **options) if body is None else http.post(url, json={"body": body}, **options)
    if response.status == 500:
        response.raise_for_status()
    return Fetched(response.status, response.header("content-type"), response.truncated, response.text)


@tool
def gather(tools: list[str]) -> str:
    """Calls tools of the agent at once."""
    calls = [agent_tools.Call(name, {"path": name, "n": at}) for at, name in enumerate(tools, 1)]
    said = agent_tools.call_many(calls, return_exceptions=True)
    return "\n".join(str(one) if isinstance(one, Exception) else f'"{one["path"]}" and {one["n"]}' for one in said)


@tool
def account(path: str, body: str | None = None) -> str:
    """Uses an account."""
    if not connections.connected("service"):
        connect("Connect the service.", "service", key="service")
    headers = {"x-kind": "person"}
    if body is None:
        response = connections.get("service", path, headers=headers)
    else:
        response = connections.post("service", path, headers=headers, json={"body": body})
    return f"{response.raise_for_status().status} {response.text}"
