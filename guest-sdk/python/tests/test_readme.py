"""The README's code works: its blocks, one after the other, as one module."""

import re
from pathlib import Path

from portcullis_guest import NOT_DONE, ToolUse
from portcullis_guest.host import Request, Root
from portcullis_guest.http import Response
from portcullis_guest.plugin import PLUGIN
from portcullis_guest.testing import Host


def test_the_readme_works(monkeypatch):
    for kind in vars(PLUGIN):
        monkeypatch.setattr(PLUGIN, kind, None if kind == "finder" else {})
    text = (Path(__file__).parent.parent / "README.md").read_text()
    module: dict = {"__name__": "readme"}
    for block in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(compile(block, "README.md", "exec"), module)
    module["test_it_books"]()
    host = Host(messages=["a", "b"])
    assert host.call(module["collect"]).text == "a\nb"
    assert host.read("guide://city/Oslo")[0].body == '{"name":"Oslo"}'
    assert host.prompt("plan", city="Oslo")[0].content[0].text == "Plan a day in Oslo, for any mood."
    result = host.call(module["forecast"], place="Oslo", days=2)
    assert result.structured == '{"place":"Oslo","highs":[21,22]}'
    assert host.chunk_texts[-1] == "day 2: 22 °C"
    assert host.complete("plan", "mood", "w").values == ["wild"]
    assert host.complete("guide://city/{name}", "name", "o").values == ["Oslo"]
    words = {"words.find": lambda given: {"text": f"about {given['word']}"}}
    host = Host(samples=[ToolUse("1", "look_up", '{"word":"moat"}'), "A ditch."], agent_tools=words)
    assert host.call(module["explain"], word="moat").text == "A ditch."
    host = Host(forms=[{"to": "Oslo", "email": "ada@example.com"}], roots=[Root("file:///a")], agent_tools=words)
    assert host.call(module["gather"], words=["a", "b"]).text == '["about a","about b","Oslo","file:///a"]'
    host = Host(http=lambda request: Response(404, [], b""))
    assert host.reconcile("book", Request("POST", "https://api.example.com/v1/")) is NOT_DONE
