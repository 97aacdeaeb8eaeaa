"""Docstrings: a description, then sections such as `Args:`."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

_SECTION = re.compile(r"^(Args|Arguments|Attributes|Parameters|Returns|Raises|Yields|Example|Examples|Note|Notes):\s*$")
_DESCRIBES = {"Args", "Arguments", "Attributes", "Parameters"}
_ENTRY = re.compile(r"^(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")


@dataclass
class Docs:
    description: str = ""
    entries: dict[str, str] = field(default_factory=dict)


def parse(text: str | None) -> Docs:
    """The description is what comes before the first section; the entries are what sections say of names."""
    docs, section, name = Docs(), None, None
    lines = inspect.cleandoc(text or "").splitlines()
    before: list[str] = []
    for line in lines:
        if heading := _SECTION.match(line):
            section, name = heading[1], None
        elif section is None:
            before.append(line)
        elif section in _DESCRIBES and line.strip():
            indent = len(line) - len(line.lstrip())
            entry = _ENTRY.match(line.strip())
            if entry and (name is None or indent <= deep):
                name, deep = entry[1], indent
                docs.entries[name] = entry[2]
            elif name:
                docs.entries[name] = f"{docs.entries[name]} {line.strip()}".strip()
    docs.description = "\n".join(before).strip()
    return docs
