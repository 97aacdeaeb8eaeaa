"""What becomes of functions: schemas, results, errors, with the fake host."""

import datetime
import enum
import json
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from portcullis_guest import (
    Cancelled,
    Context,
    Declined,
    Denied,
    InvalidArguments,
    Length,
    Message,
    NotFound,
    Range,
    Text,
    ToolError,
    ToolResult,
    Unsupported,
    agent_tools,
    ask,
    checkpoint,
    confirm,
    encoding,
    http,
    log,
    output,
    progress,
    prompt,
    resource,
    resource_template,
    sample,
    state,
    steering,
    tool,
)
from portcullis_guest.docs import parse
from portcullis_guest.errors import AgentError, CheckpointError, HttpError, text_of
from portcullis_guest.http import Response
from portcullis_guest.plugin import PLUGIN
from portcullis_guest.testing import DECLINED, DISMISSED, Host


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Point:
    """A place.

    Attributes:
        y: Upwards,
            in metres.
    """

    x: int
    y: float = 0.5
    label: str | None = None


@tool(title="Everything", read_only=True)
def everything(
    ctx: Context,
    name: Annotated[str, "A name.", Length(1, 9)],
    points: Annotated[list[Point], Length(min=1)],
    size: Size = Size.SMALL,
    word: Literal["a", "b"] | None = None,
    by_name: dict[str, int] | None = None,
    exact: Annotated[float, Range(0.5)] = 1.5,
) -> Point:
    """Takes everything.

    It says so in two paragraphs.

    Args:
        size: How large.

    Returns:
        The first point.
    """
    assert isinstance(points[0], Point) and isinstance(size, Size)
    output.emit(f"{ctx.principal} {name} {size.value} {word} {by_name} {exact}")
    return points[0]


def test_the_schema_says_what_the_function_takes():
    offer = everything.__portcullis__
    assert offer.description == "Takes everything.\n\nIt says so in two paragraphs."
    point = {
        "type": "object",
        "properties": {
            "x": {"type": "integer"},
            "y": {"type": "number", "description": "Upwards, in metres.", "default": 0.5},
            "label": {"type": ["string", "null"]},
        },
        "required": ["x"],
    }
    assert json.loads(offer.input_schema) == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "A name.", "minLength": 1, "maxLength": 9},
            "points": {"type": "array", "items": point, "minItems": 1},
            "size": {"type": "string", "enum": ["small", "large"], "description": "How large.", "default": "small"},
            "word": {"type": ["string", "null"], "enum": ["a", "b", None]},
            "by_name": {"type": ["object", "null"], "additionalProperties": {"type": "integer"}},
            "exact": {"type": "number", "minimum": 0.5, "default": 1.5},
        },
        "required": ["name", "points"],
        "additionalProperties": False,
    }
    assert json.loads(offer.output_schema)["required"] == ["x", "y", "label"]


def test_arguments_have_their_types_and_the_result_is_compact_json():
    host = Host()
    result = host.call(everything, name="Ädä", points=[{"x": 3.0, "y": 1}], size="large", by_name={"b": 2})
    assert result.structured == result.text == '{"x":3,"y":1.0,"label":null}'
    assert host.chunk_texts == ["local Ädä large None {'b': 2} 1.5"]
    for wrong, said in [
        ({"points": []}, "`name` is missing"),
        ({"name": 1, "points": []}, "`name` is 1, which does not fit"),
        ({"name": "a", "points": [{"x": "1"}]}, '`points`[0].x is "1", which does not fit'),
        ({"name": "a", "points": [{"x": 1.5}]}, "`points`[0].x is 1.5, which does not fit"),
    ]:
        with pytest.raises(InvalidArguments) as error:
            host.call("everything", **wrong)
        assert str(error.value) == said


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tool(lambda x: x), "a docstring is needed"),
        (lambda: tool(_documented(_takes_anything)), "`x` needs a type"),
        (lambda: tool(_documented(_takes_bytes)), "bytes has no schema"),
        (lambda: tool(_documented(_takes_a_bad_range)), "a Range is for numbers"),
        (lambda: tool(_documented(_is_async)), "take a plain function"),
        (lambda: tool(name="a b")(_documented(_nothing)), "is not a name"),
        (lambda: tool(name="everything")(_documented(_nothing)), "there is `everything` already"),
        (lambda: resource_template("a://{b}")(_documented(_nothing)), "must be the variables"),
        (lambda: prompt(_documented(_takes_an_integer)), "of a prompt must be str"),
    ],
)
def test_mistakes_are_said_when_the_function_is_marked(make, said):
    with pytest.raises(TypeError, match=said):
        make()


def _documented(function):
    function.__doc__ = "Does it."
    return function


def _takes_anything(x): ...
def _takes_bytes(x: bytes) -> None: ...
def _takes_a_bad_range(x: Annotated[str, Range(1)]) -> None: ...
def _takes_an_integer(x: int) -> str: ...
def _nothing() -> None: ...
async def _is_async() -> None: ...


def test_docstrings_are_taken_apart():
    docs = parse("One.\n\n    Args:\n        a: First\n            and more.\n        b (int): Second.\n\n    Raises:\n        c: no.")
    assert (docs.description, docs.entries) == ("One.", {"a": "First and more.", "b": "Second."})


@dataclass
class Trip:
    to: Annotated[str, "A city."]
    nights: Annotated[int, Range(1, 14)] = 3
    extras: list[Literal["bed", "car"]] | None = None


@tool
def book() -> str:
    """Books a trip."""
    trip = ask("Where to?", Trip, key="trip")
    if not confirm(f"{trip.nights} nights in {trip.to}?"):
        return "nothing was booked"
    return sample([Message.user("Wish well."), Message.assistant("I")], max_tokens=5).text


def test_questions_are_answered_in_order():
    host = Host(forms=[{"to": "Oslo"}, {}], samples=["Enjoy!"])
    assert host.call(book).text == "Enjoy!"
    assert [asked["message"] for asked in host.asked[:2]] == ["Where to?", "3 nights in Oslo?"]
    assert host.asked[0]["schema"]["required"] == ["to"]
    assert host.asked[0]["schema"]["properties"]["extras"] == {
        "type": "array",
        "items": {"type": "string", "enum": ["bed", "car"]},
    }
    assert Host(forms=[{"to": "Oslo"}, DISMISSED]).call(book).text == "nothing was booked"
    with pytest.raises(Declined, match="the user declined"):
        Host(forms=[DECLINED]).call(book)
    with pytest.raises(Unsupported, match=r"elicitation\.form"):
        Host().call(book)


@tool
def outside(url: str) -> str:
    """Asks others."""
    said = agent_tools.call("notes.add", {"text": url}, purpose="to keep it")
    answer = http.post(url, json={"ä": said["path"]}, headers={"x": "y"}, max_body=4).raise_for_status()
    visits = state.update("visits", lambda visits: (visits or 0) + 1)
    state.save("last", {"url": url})
    log.warning(f"{visits} of {state.keys()}")
    progress.report(1, 2)
    return answer.text


def test_what_goes_outside_is_recorded_and_answered():
    host = Host(
        agent_tools={"notes.add": lambda arguments: {"path": f"/{arguments['text']}"}},
        http=lambda request: Response(200, [], b"answer"),
        values={"visits": b"6"},
    )
    assert host.call(outside, url="https://a/b?c").text == "answ"
    [request] = host.requests
    assert (request.target, request.body) == ("POST https://a/b", '{"ä":"/https://a/b?c"}'.encode())
    assert request.headers == [("content-type", "application/json"), ("x", "y")]
    assert host.agent_calls == [("notes.add", {"text": "https://a/b?c"})]
    assert host.values == {"visits": b"7", "last": b'{"url":"https://a/b?c"}'}
    assert (host.records, host.reports) == ([("warning", "7 of ['last', 'visits']")], [(1.0, 2.0, None)])
    host.http = lambda request: Response(404, [], b"")
    with pytest.raises(HttpError, match="status 404"):
        host.call(outside, url="https://a")
    host.agent_tools["notes.add"] = lambda arguments: 1 / 0
    with pytest.raises(AgentError, match="the agent tool broke: division by zero"):
        host.call(outside, url="https://a")
    with pytest.raises(Denied, match="agent-tools does not allow `notes.add`"):
        Host().call(outside, url="https://a")


@dataclass
class Lines:
    heard: list[str]


@tool(execution="task-only")
def listen() -> str:
    """Listens."""
    lines = checkpoint.restored(Lines) or Lines([])
    for message in steering.messages():
        lines.heard.append(message)
        output.emit(message)
        checkpoint.save(lines)
    return " ".join(lines.heard)


def test_a_long_call_goes_on_from_its_checkpoint_and_stops_when_it_is_cancelled():
    host = Host(messages=["two", "three"], checkpoint={"heard": ["one"]})
    assert host.call(listen).text == "one two three"
    assert host.saved[-1] == {"heard": ["one", "two", "three"]}
    with pytest.raises(Cancelled):
        Host(messages=["one"], closed=True).call(listen)
    with pytest.raises(CheckpointError, match="is not what was expected"):
        Host(checkpoint={"heard": 1}).call(listen)


@resource("guide://all", mime_type="text/plain")
def guides() -> str:
    """All guides."""
    return "Oslo"


@resource_template("guide://{city}-{number}.md")
def guide(city: str, number: str) -> dict[str, str] | None:
    """A guide."""
    return {"city": city, "number": number} if city != "Paris" else None


@prompt
def plan(city: str, mood: str | None = None) -> str:
    """Plans a day."""
    return f"Plan a day in {city}, {mood}."


def test_resources_and_prompts_are_found_by_uri_and_name():
    host = Host()
    assert host.read("guide://all")[0].body == "Oslo"
    [found] = host.read("guide://Troms%C3%B8-7-8.md")
    assert (found.body, found.mime_type) == ('{"city":"Tromsø","number":"7-8"}', "application/json")
    for missing in ["guide://Paris-1.md", "guide://a/b-1.md", "guide://%zz-1.md", "guide://"]:
        with pytest.raises(NotFound):
            host.read(missing)
    assert host.prompt("plan", city="Oslo")[0].content[0].text == "Plan a day in Oslo, None."


def test_errors_have_a_text():
    assert [text_of(error) for error in (ValueError("x"), ValueError(), KeyError("x"))] == ["x", "ValueError", "KeyError: 'x'"]
    assert ToolResult.error("a", Text("b")).text == "a\nb"
    assert issubclass(Denied, ToolError)


def test_json_is_read_with_space_around_it_and_without() -> None:
    from portcullis_guest import encoding

    for text in ('{"a": [1]}', ' {"a": [1]}\n', b'{"a": [1]}'):
        assert encoding.loads(text) == {"a": [1]}
    for text in ("", "{", '{"a": 1} x', "nought", '{"a": 1'):
        with pytest.raises(json.JSONDecodeError):
            encoding.loads(text)


def test_a_dataclass_may_refer_to_itself() -> None:
    from portcullis_guest import reading

    assert reading.read(Tree, {"name": "a", "below": [{"name": "b"}]}) == Tree("a", [Tree("b")])
    with pytest.raises(InvalidArguments, match=r"it\.below\[0\]\.name is 1"):
        reading.read(Tree, {"name": "a", "below": [{"name": 1}]})


@dataclass
class Tree:
    name: str
    below: list["Tree"] | None = None


def test_dates_are_texts_outside():
    @dataclass
    class Stay:
        first: datetime.date
        leaves: datetime.datetime

    @tool(name="dates")
    def stay(first: datetime.date, leaves: datetime.datetime | None = None) -> Stay:
        """Books."""
        return Stay(first, (leaves or datetime.datetime(2026, 1, 31, 9, tzinfo=datetime.UTC)) + datetime.timedelta(days=1))

    offer = PLUGIN.tools["dates"]
    properties = json.loads(offer.input_schema)["properties"]
    assert properties["first"] == {"type": "string", "format": "date"}
    assert properties["leaves"] == {"type": ["string", "null"], "format": "date-time"}
    assert json.loads(offer.output_schema)["properties"]["leaves"]["format"] == "date-time"
    host = Host()
    answer = json.loads(host.call(stay, first=datetime.date(2026, 1, 30), leaves="2026-02-01T10:00:00Z").structured)
    assert answer == {"first": "2026-01-30", "leaves": "2026-02-02T10:00:00+00:00"}
    for wrong in ({"first": "30.1.2026"}, {"first": "2026-01-30", "leaves": "2026-02-01T10:00:00"}, {"first": 3}):
        with pytest.raises(InvalidArguments, match="write it as 2026-01-31"):
            host.call(stay, **wrong)
    with pytest.raises(ValueError, match="no time zone"):
        encoding.dumps(datetime.datetime(2026, 1, 1))
