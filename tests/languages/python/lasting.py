"""A task that listens, and goes on in another process; and what is left to a call."""

from dataclasses import dataclass
from typing import Annotated

from portcullis_guest import Range, checkpoint, meter, output, steering, tool


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
def budget() -> str:
    """Says whether anything is left."""
    return f"{(meter.fuel_left() or 0) > 0}, {meter.deadline_left() > 0}".lower()
