"""Resources, a prompt, and suggestions for their arguments."""

from typing import Annotated

from portcullis_guest import Complete, Message, ToolError, Typed, prompt, resource, resource_template


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
