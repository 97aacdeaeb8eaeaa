"""What goes further than one call: many questions and calls at once, the model with a tool, suggestions, traces, accounts, doubt."""

import os
from dataclasses import dataclass
from typing import Annotated

import pytest
from portcullis_guest import (
    NOT_DONE,
    Complete,
    Completion,
    Declined,
    Dismissed,
    Doubt,
    Message,
    SampleTool,
    ToolError,
    ToolResult,
    Typed,
    agent_tools,
    ask_many,
    connect,
    connections,
    events,
    http,
    meter,
    open_url,
    prompt,
    publish,
    questions,
    reconcile,
    resource_template,
    roots,
    sample,
    supported,
    tool,
)
from portcullis_guest.agent_tools import Call
from portcullis_guest.errors import AccountError, AgentError, Denied, Exhausted, PublishError, Unsupported
from portcullis_guest.host import Abilities, Request, Root
from portcullis_guest.http import Response
from portcullis_guest.plugin import PLUGIN
from portcullis_guest.sampling import ToolUse
from portcullis_guest.testing import DECLINED, DISMISSED, Host


def run(host: Host, work):
    """Runs this within the host."""
    return host._within(work)


def test_calls_are_made_at_once_and_a_failed_one_stops_no_other():
    def fails(_):
        raise RuntimeError("stuck")

    host = Host(agent_tools={"a": lambda given: {"n": given["n"] + 1}, "b": fails})
    calls = [Call("a", {"n": 1}), Call("b"), Call("c"), Call("a", {"n": {2}.union}), Call("a", {"n": 3}, purpose="to know")]
    said = run(host, lambda: agent_tools.call_many(calls, return_exceptions=True))
    assert (said[0], said[4]) == ({"n": 2}, {"n": 4})
    assert [getattr(one, "kind", None) for one in said[1:4]] == ["failed", None, "invalid-arguments"]
    assert isinstance(said[2], Denied) and [name for name, _ in host.agent_calls] == ["a", "b", "a"]
    with pytest.raises(AgentError, match="stuck"):
        run(host, lambda: agent_tools.call_many(calls))
    assert run(host, lambda: agent_tools.call_many([])) == []


def look_up(word: Annotated[str, "Which word."]) -> str:
    """Looks a word up."""
    if word == "missing":
        raise ToolError("there is no such word")
    return f"about {word}"


def explain() -> str:
    talk = [Message.user("What is a gate?")]
    while True:
        answer = sample(talk, tools=[look_up], tool_choice="auto", cost=0.5)
        if not answer.tool_uses:
            return answer.text
        talk += [answer.message, answer.run_tools()]


def test_the_model_uses_functions():
    uses = [ToolUse("1", "look_up", '{"word":"moat"}'), ToolUse("2", "look_up", '{"word":"missing"}')]
    wrong = [ToolUse("3", "look_up", '{"word":7}'), ToolUse("4", "burn", "{}"), ToolUse("5", "look_up", "{")]
    host = Host(samples=[uses, wrong, "A way in."])
    assert run(host, explain) == "A way in."
    first, _, last = host.asked
    assert (first.tools[0].description, first.tool_choice, first.cost) == ("Looks a word up.", "auto", 0.5)
    assert first.tools[0].input_schema == '{"type":"object","properties":{"word":{"type":"string","description":"Which word."}},"required":["word"]}'
    assert [message.role for message in last.messages] == ["user", "assistant", "user", "assistant", "user"]
    told = [(one.id, one.content[0].text, one.is_error) for message in last.messages[2::2] for one in message.content]
    assert told[:2] == [("1", "about moat", False), ("2", "there is no such word", True)]
    assert [one[2] for one in told[2:]] == [True] * 3
    assert "does not fit" in told[2][1] and told[3][1] == "there is no tool named burn"


def test_a_limit_ends_the_call_and_is_not_told_to_the_model():
    def burn() -> str:
        """Burns."""
        raise Exhausted("calls", 3)

    host = Host(samples=[ToolUse("1", "burn", "{}")])
    with pytest.raises(Exhausted):
        run(host, lambda: sample("Burn.", tools=[burn]).run_tools())


def test_tools_for_the_model_made_by_hand_are_answered_by_hand():
    tool_by_hand = SampleTool("pick", None, '{"type":"object"}')
    host = Host(samples=[ToolUse("1", "pick", '{"n":3}')])
    use = run(host, lambda: sample("Pick.", tools=[tool_by_hand])).tool_uses[0]
    assert use.arguments() == {"n": 3}
    assert use.arguments(dict[str, int]) == {"n": 3}
    assert (use.succeeded("a", "b").is_error, use.failed("no").content[0].text) == (False, "no")
    with pytest.raises(TypeError, match="docstring"):
        SampleTool.of(lambda: None)


@dataclass
class Person:
    name: str


def put() -> list:
    return [
        questions.ask("Who?", Person, key="q2"),
        questions.confirm("Sure?"),
        questions.sample("A wish."),
        questions.open_url("Look.", "https://example.com/"),
        questions.roots(key="where"),
    ]


def test_several_questions_are_asked_at_once():
    here = [Root("file:///repo", "repo")]
    host = Host(forms=[{"name": "Ada"}, {}], samples=["Luck!"], pages=[True], roots=here)
    person, sure, wish, page, found = run(host, lambda: ask_many(*put()))
    assert (person, sure, wish.text, page, found) == (Person("Ada"), True, "Luck!", None, here)
    # A chosen key is not taken for another question.
    keys = [one["key"] for one in host.asked if isinstance(one, dict)]
    assert keys == ["q2", "q2_", "q4", "where"]
    no = Host(forms=[DECLINED, DISMISSED], samples=["Luck!"], pages=[DISMISSED], roots=[])
    said = run(no, lambda: ask_many(*put(), return_exceptions=True))
    assert isinstance(said[0], Declined) and said[1] is False and isinstance(said[3], Dismissed)
    with pytest.raises(Declined):
        run(Host(forms=[DECLINED, DISMISSED], samples=["Luck!"], pages=[True], roots=[]), lambda: ask_many(*put()))
    assert run(Host(), ask_many) == []


def test_pages_and_roots_are_asked_for():
    host = Host(pages=[True, DECLINED, False], roots=[Root("file:///a")])
    run(host, lambda: open_url("Look.", "https://example.com/"))
    assert host.asked[0]["address"] == "https://example.com/"
    for _ in range(2):
        with pytest.raises(Declined):
            run(host, lambda: open_url("Look.", "https://example.com/"))
    assert run(host, roots) == [Root("file:///a")]
    with pytest.raises(Unsupported):
        run(Host(), roots)
    assert run(Host(pages=[True]), supported) == Abilities(url=True)


def test_arguments_are_completed(monkeypatch):
    for kind in ("templates", "prompts"):
        monkeypatch.setattr(PLUGIN, kind, {})
    assert "completions" not in PLUGIN.exports

    def words(typed: Typed) -> list[str]:
        return typed.matching(["borg", "bru"] if typed.others.get("language") == "Norwegian" else ["bridge"])

    @prompt
    def explain(language: Annotated[str, Complete("English", "Norwegian")], word: Annotated[str | None, Complete(words)] = None) -> str:
        """Explains."""
        return f"{language} {word}"

    @resource_template("town://{name}")
    def town(name: Annotated[str, Complete(lambda typed: (f"{typed.value}{at}" for at in range(150)))]) -> str:
        """A town."""
        return name

    host = Host()
    assert host.complete("explain", "language", "nor") == Completion(["Norwegian"], 1)
    assert host.complete("explain", "word", "b").values == ["bridge"]
    assert host.complete("explain", "word", "b", language="Norwegian").values == ["borg", "bru"]
    many = host.complete("town://{name}", "name", "x")
    assert (len(many.values), many.total, many.has_more) == (100, 150, True)
    assert host.complete("explain", "other", "") == Completion([], 0)
    with pytest.raises(ToolError, match="has no prompt `nobody`"):
        host.complete("nobody", "x", "")
    assert "completions" in PLUGIN.exports
    with pytest.raises(TypeError, match="words, or one function"):
        Complete("a", words)


def test_what_has_become_of_an_effect_is_found_out(monkeypatch):
    monkeypatch.setattr(PLUGIN, "finder", None)
    assert "reconcile" not in PLUGIN.exports and Host().reconcile("book", None) is None

    @reconcile
    def find_out(doubt: Doubt):
        match doubt.effect:
            case http.Request(url=url):
                found = http.get(url)
                return Response(201, [], found.body) if found.ok else NOT_DONE
            case Call(name):
                return ToolResult.error(f"{name} for {doubt.arguments()['who']}")

    with pytest.raises(TypeError, match="already"):
        reconcile(find_out)
    assert "reconcile" in PLUGIN.exports
    there = Host(http=lambda _: Response(200, [], b"booked"))
    assert there.reconcile("book", Request("POST", "https://example.com/")).body == b"booked"
    away = Host(http=lambda _: Response(404, [], b""))
    assert away.reconcile("book", Request("POST", "https://example.com/")) is NOT_DONE
    assert away.reconcile("book", Call("notes.add"), who="Ada").text == "notes.add for Ada"
    assert away.reconcile("book", None) is None


def test_things_are_left_behind():
    host = Host()

    def leave():
        publish.append("log", "a")
        assert publish.append("log", "b").endswith("/log")
        publish.put("today", "text", title="Today", audience="user", ttl=60)
        publish.put_prompt("plan", "Plan {{day}}.", Message.assistant("Yes."), arguments=["day"])
        return [events.emit("a.b", {"n": 1}, once="k"), events.emit("a.b", None, once="k"), events.emit("a.b")]

    assert run(host, leave) == [True, False, True]
    assert host.resources["log"][0] == "ab"
    assert (host.resources["today"][1].audience, host.resources["today"][1].ttl) == (("user",), 60)
    assert host.prompts["plan"].messages == [("user", "Plan {{day}}."), ("assistant", "Yes.")]
    assert host.events == [("a.b", {"n": 1}), ("a.b", None)]
    run(host, lambda: (publish.remove("log"), publish.remove_prompt("plan")))
    for work in (lambda: publish.remove("log"), lambda: publish.remove_prompt("plan"), lambda: publish.append("today", b"x")):
        with pytest.raises(PublishError):
            run(host, work)
    with pytest.raises(ToolError, match="cannot be written as JSON"):
        run(host, lambda: events.emit("a.b", object()))


def test_an_account_is_used():
    def work():
        if not connections.connected("hub"):
            connect("Connect it.", "hub")
        return connections.post("hub", "/user", json={"a": 1}, headers={"x": "y"}).json()

    host = Host(connections={"hub": lambda _: Response(200, [], b'{"login":"ada"}')})
    assert run(host, work) == {"login": "ada"}
    name, request = host.account_requests[0]
    assert (name, request.method, request.headers, request.body) == ("hub", "POST", [("content-type", "application/json"), ("x", "y")], b'{"a":1}')
    with pytest.raises(Declined):
        run(Host(connections={"hub": None}, pages=[DECLINED]), work)
    with pytest.raises(AccountError, match="not connected"):
        run(Host(connections={"hub": None}), lambda: connections.get("hub", "/"))
    with pytest.raises(Denied):
        run(Host(), work)


def test_the_rest_of_the_budget_is_told():
    assert run(Host(fuel=7), lambda: (meter.fuel_left(), meter.deadline_left())) == (7, 60.0)
    assert run(Host(fuel=None), meter.fuel_left) is None


def test_files_and_variables_are_pythons_own(tmp_path, monkeypatch):
    @tool(name="keep-file")
    def keep(path: str) -> str:
        """Keeps the variable in a file."""
        with open(path, "w") as file:
            file.write(os.environ["POLYGLOT"])
        return ", ".join(os.listdir(os.path.dirname(path)))

    monkeypatch.setenv("POLYGLOT", "yes")
    assert Host().call(keep, path=str(tmp_path / "a.txt")).text == "a.txt"
    assert (tmp_path / "a.txt").read_text() == "yes"
