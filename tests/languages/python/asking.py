"""Questions to the user and the model."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from portcullis_guest import (
    Declined,
    Dismissed,
    Format,
    Length,
    Message,
    Range,
    Title,
    ToolError,
    ask,
    ask_many,
    confirm,
    open_url,
    questions,
    sample,
    tool,
)


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
