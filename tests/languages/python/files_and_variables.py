"""Files and variables."""

import os
from pathlib import Path
from typing import Literal

from portcullis_guest import tool


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
