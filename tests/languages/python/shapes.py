"""What goes in and out: arguments, structured results, content, errors, and what the call is told of itself."""

from dataclasses import dataclass
from typing import Annotated, Literal

from portcullis_guest import (
    Audio,
    Content,
    Context,
    EmbeddedResource,
    Image,
    InvalidArguments,
    Length,
    Range,
    ResourceLink,
    Text,
    ToolError,
    ToolResult,
    Unsupported,
    log,
    output,
    progress,
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
