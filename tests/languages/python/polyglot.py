"""The plugin `polyglot` in Python, as ../README.md specifies it."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from portcullis_guest import (
    NOT_DONE,
    Audio,
    Complete,
    Content,
    Context,
    Declined,
    Dismissed,
    Doubt,
    EmbeddedResource,
    Format,
    Image,
    InvalidArguments,
    Length,
    Message,
    Range,
    ResourceLink,
    Text,
    Title,
    ToolError,
    ToolResult,
    Typed,
    Unsupported,
    agent_tools,
    ask,
    ask_many,
    checkpoint,
    confirm,
    connect,
    connections,
    events,
    http,
    log,
    meter,
    open_url,
    output,
    progress,
    prompt,
    publish,
    questions,
    reconcile,
    resource,
    resource_template,
    sample,
    state,
    steering,
    tool,
)


@tool(title="Greet", read_only=True, idempotent=True, open_world=False)
def greet(
    name: Annotated[str, Length(1, 40)],
    times: Annotated[int, Range(1, 3)] = 1,
    style: Literal["plain", "loud"] = "plain",
    title: str | None = None,
) -> str:
    """Greets somebody.

    Args:
        name: Whom to greet.
        times: How often.
        style: How it sounds.
        title: What comes before the name.
    """
    line = f"Hello, {title} {name}!" if title else f"Hello, {name}!"
    return "\n".join([line.upper() if style == "loud" else line] * times)


@dataclass
class Point:
    """A place.

    Attributes:
        y: Upwards.
    """

    x: int
    y: int
    label: str | None


@dataclass
class Measured:
    count: Annotated[int, "How many points."]
    width: float
    weight: int
    labels: list[str]
    first: Point | None


@tool(read_only=True)
def measure(
    points: Annotated[list[Point], Length(min=1)],
    weights: dict[str, int],
    scale: Annotated[float, Range(min=0.25)] = 0.5,
    named: bool = False,
) -> Measured:
    """Measures points.

    Args:
        points: At least one.
        weights: Weights by name.
        scale: The unit.
        named: Whether to name the first point.
    """
    xs = [point.x for point in points]
    return Measured(
        count=len(points),
        width=(max(xs) - min(xs)) * scale,
        weight=sum(weights.values()),
        labels=[point.label for point in points if point.label is not None],
        first=points[0] if named else None,
    )


@tool
def contents() -> list[Content]:
    """Returns content of every kind."""
    return [
        Text("text"),
        Image(bytes([1, 2, 3]), "image/png"),
        Audio(bytes([4, 5, 6]), "audio/wav"),
        ResourceLink("polyglot://about", "about", "About", "What this is.", "text/plain", 27),
        EmbeddedResource("polyglot://note", "a note", "text/plain"),
        EmbeddedResource("polyglot://bytes", bytes([7, 8])),
    ]


@tool
def context(ctx: Context) -> str:
    """Says what the call is told of itself."""
    in_time = str(ctx.deadline_ms > 0).lower()
    return f"{ctx.principal}, {ctx.correlation_id or 'nothing'}, {ctx.idempotency_key or 'nothing'}, {in_time}"


@tool
def stream(count: Annotated[int, "How many.", Range(1, 9)]) -> str:
    """Sends parts while it runs."""
    for part in range(1, count + 1):
        log.info(f"polyglot sends part {part}")
        last = output.emit(f"part {part}")
        progress.report(part, count, f"sent {part}")
    both = output.emit(Text("for you alone", audience="user", priority=0.5), "the end")
    return f"{last} {both}"


@tool
def fail(how: Literal["invalid", "failed", "unsupported", "content", "error"]) -> ToolResult:
    """Fails in the way that is asked for."""
    match how:
        case "invalid":
            raise InvalidArguments("`how` was not wanted")
        case "failed":
            raise ToolError("it did not work")
        case "unsupported":
            raise Unsupported("a printer")
        case "content":
            return ToolResult.error("it went wrong", "twice")
        case "error":
            raise OSError("an ordinary error")


@dataclass
class Order:
    name: Annotated[str, Title("Name"), "For whom.", Length(1, 40)]
    email: Annotated[str, Format("email")]
    pieces: Annotated[int, Range(1, 9)] = 1
    size: Literal["small", "large"] = "small"
    gift: bool = field(kw_only=True)
    note: str | None = None


@tool
def order() -> str:
    """Takes an order."""
    try:
        order = ask("What do you want?", Order, key="order")
    except Declined:
        return "declined"
    except Dismissed:
        return "closed"
    gift = str(order.gift).lower()
    return f"{order.pieces} {order.size} for {order.name} <{order.email}>, gift: {gift}, note: {order.note or 'nothing'}"


@tool(name="confirm", destructive=True)
def confirm_it() -> str:
    """Asks for a yes."""
    confirm("Really?", or_stop=True, key="sure")
    return "confirmed"


@tool
def complete(question: str) -> str:
    """Asks the model."""
    answer = sample(
        question,
        system_prompt="Answer in one word.",
        max_tokens=50,
        temperature=0.5,
        stop=["\n"],
        models=["small"],
        purpose="to know",
        key="model",
    )
    return f"{answer.text} by {answer.model}, {answer.stop_reason or 'nothing'}"


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


@dataclass
class March:
    said: list[str]


@tool(execution="task-only")
def march(steps: Annotated[int, Range(1, 9)]) -> str:
    """Marches as it is told."""
    march = checkpoint.restored(March) or March([])
    while len(march.said) < steps:
        output.emit(f"at step {len(march.said)}")
        try:
            message = steering.receive()
        except steering.Ended:
            break
        if message == "halt":
            return f"halted after {', '.join(march.said)}"
        march.said.append(message)
        checkpoint.save(march)
    return ", ".join(march.said)


@tool
def listen() -> str:
    """Listens for a moment."""
    message = steering.next() or "nothing"
    try:
        return f"{message}, {steering.receive(timeout=0.001)}"
    except steering.Ended:
        return f"{message}, ended"
    except TimeoutError:
        return f"{message}, timed out"


@tool
def gather(tools: list[str]) -> str:
    """Calls tools of the agent at once."""
    calls = [agent_tools.Call(name, {"path": name, "n": at}) for at, name in enumerate(tools, 1)]
    said = agent_tools.call_many(calls, return_exceptions=True)
    return "\n".join(str(one) if isinstance(one, Exception) else f'"{one["path"]}" and {one["n"]}' for one in said)


def look_up(word: Annotated[str, "Which word."]) -> str:
    """Looks a word up."""
    if word == "missing":
        raise ToolError("there is no such word")
    return f"{word}: {len(word)} letters"


@tool
def explain(word: str) -> str:
    """Explains a word, with a tool for the model."""
    talk, uses = [Message.user(f"Explain {word}.")], 0
    while True:
        answer = sample(talk, max_tokens=50, tools=[look_up], tool_choice="auto", key=f"after {uses}")
        if not answer.tool_uses:
            return f"{answer.text}, after {uses}"
        uses += len(answer.tool_uses)
        talk += [answer.message, answer.run_tools()]


@dataclass
class Person:
    name: str


@tool
def interview() -> str:
    """Asks several questions at once."""
    person, sure, wish, roots = ask_many(
        questions.ask("Who are you?", Person, key="who"),
        questions.confirm("Really?", key="sure"),
        questions.sample("Write a wish.", max_tokens=20, key="wish"),
        questions.roots(key="where"),
        return_exceptions=True,
    )
    name = "declined" if isinstance(person, Declined) else "closed" if isinstance(person, Dismissed) else person.name
    return f"{name}, {str(sure).lower()}, {wish.text}, {roots[0].uri if roots else 'nowhere'}"


@tool
def visit() -> str:
    """Asks to open a page."""
    try:
        open_url("Look at this.", "https://example.com/page", key="page")
    except Declined:
        return "declined"
    except Dismissed:
        return "closed"
    return "opened"


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


@tool
def leave(action: Literal["put", "append", "remove", "prompt", "forget"], path: str, text: str | None = None) -> str:
    """Leaves something behind."""
    about = {"title": "Left", "description": "What was left.", "ttl": 60}
    match action:
        case "put":
            return publish.put(path, text or "", mime_type="text/markdown", audience="user", priority=0.5, **about)
        case "append":
            return publish.append(path, text or "")
        case "remove":
            publish.remove(path)
            return "removed"
        case "prompt":
            publish.put_prompt(path, text or "", Message.assistant("Yes."), arguments=["line"], **about)
            return "left"
        case "forget":
            publish.remove_prompt(path)
            return "forgotten"


@tool
def announce(name: str, text: str, key: Annotated[str | None, "Announced only once."] = None) -> str:
    """Announces an event."""
    return "announced" if events.emit(name, {"text": text}, once=key) else "announced before"


@tool
def budget() -> str:
    """Says whether anything is left."""
    return f"{(meter.fuel_left() or 0) > 0}, {meter.deadline_left() > 0}".lower()


@tool
def files(action: Literal["write", "read", "list"], path: str, text: str | None = None) -> str:
    """Uses files."""
    match action:
        case "write":
            Path(path).write_text(text or "")
            return "written"
        case "read":
            try:
                with open(path) as file:
                    return file.read()
            except FileNotFoundError:
                return "nothing"
        case "list":
            return ", ".join(sorted(os.listdir(path)))


@tool
def variable(name: str) -> str:
    """Reads a variable."""
    return os.environ.get(name, "nothing")


@tool(execution="may-run-long")
def reserve(name: str) -> str:
    """Reserves a place."""
    response = http.post(f"http://localhost:8444/v1/place/{name}", json={"name": name})
    return f"{response.status} {response.text}"


@reconcile
def find_out(doubt: Doubt) -> http.Response | object:
    match doubt.effect:
        case http.Request(method="POST", url=url) if doubt.tool == "reserve" and doubt.arguments()["name"] != "lost":
            found = http.get(url)
            if found.status == 404:
                return NOT_DONE
            return http.Response(201, [("content-type", "text/plain")], found.body) if found.ok else None
    return None


@resource("polyglot://about", mime_type="text/plain")
def about() -> str:
    """What this plugin is."""
    return "One plugin, many languages."


@resource_template("polyglot://word/{word}", mime_type="application/json")
def word(word: Annotated[str, Complete("alpha", "Alps", "beta")]) -> dict[str, object] | None:
    """A word."""
    match word:
        case "missing":
            return None
        case "broken":
            raise ToolError("this word is broken")
    return {"word": word, "length": len(word)}


def focuses(typed: Typed) -> list[str]:
    return typed.matching(["borrowing", "speed"] if typed.others.get("language") == "rust" else ["speed", "style"])


@prompt(title="Review")
def review(
    language: Annotated[str, "Such as `rust`.", Complete("go", "python", "ruby", "rust")],
    focus: Annotated[str | None, Complete(focuses)] = None,
) -> list[Message]:
    """Reviews code."""
    return [
        Message.user(f"Review this {language}, above all {focus or 'everything'}."),
        Message.assistant("Show it to me."),
    ]
