"""Resources, prompts and events that a call leaves behind."""

from typing import Annotated, Literal

from portcullis_guest import Message, events, publish, tool


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
