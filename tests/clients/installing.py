"""A person at a terminal who is asked what a plugin may do, on a real pseudo-terminal: what is shown, and what each answer does.

    installing.py PORTCULLIS OCI-REFERENCE LYING-REFERENCE

In a folder with portcullis.toml, first.wasm (asks for `filesystem`), second.wasm (the same, changed), many.wasm (offers more than a
screen), and `published.wasm`, a copy of the first. The references are of a registry that claims things and of one that lies.
"""

import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from terminal import PATIENCE, Terminal

GRANT = 'filesystem = [{ host = "work", guest = "/work", access = "read" }]'
# The first question.
ASK = r"Which directory\? \(Enter: none, edit: write the line\) "
FINAL = r"Install it as \[plugins\.\w+\]\? \[y/N\] "
# What would drive a terminal or mislead a reader: C0 but for line breaks, C1, marks of direction, what has no width.
HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


class Session(Terminal):
    """One command, from its first word to its end."""

    def __init__(self, *arguments):
        self.raw = b""
        super().__init__([sys.argv[1], *arguments], {"TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1"})

    def show(self, read):
        self.raw += read

    def press(self, key):
        os.write(self.screen, key)

    def ended(self):
        """How it ended, once all that it said was read."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            more = self.read(0.05)
            done, status = os.waitpid(self.process, os.WNOHANG)
            if done:
                while more or self.read(0.05):
                    more = False
                os.close(self.screen)
                hidden = HIDDEN.search(self.raw.decode())
                assert not hidden, f"{hidden[0]!r} reached the terminal: {self.raw!r}"
                return os.waitstatus_to_exitcode(status)
        sys.exit(f"it does not end\n{self.seen}")


def tree():
    """All that a refusal may not change."""
    lock = open("portcullis.lock").read() if os.path.exists("portcullis.lock") else None
    return lock, sorted(glob.glob("state/components/*"))


def portcullis(*arguments):
    return subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def main():
    review()
    for test in (no, nothing, nonsense, end_of_input, interrupt, edit, choose, yes):
        forget()
        test()
    long_review()
    claims()
    lies()
    accept()
    remove()
    print("all was as it should be")


def forget():
    shutil.rmtree("state/components", ignore_errors=True)
    if os.path.exists("portcullis.lock"):
        os.remove("portcullis.lock")


def review():
    """It is whole, to the letter, and in an order in which what matters is not missed."""
    session = Session("plugin", "install", "./first.wasm")
    session.expect(ASK)
    shown = session.seen
    session.press(b"\x03")
    session.ended()
    # Only a slow machine says this.
    shown = re.sub(r"^compiling and reading .* \.\.\. \(this takes a while the first time\)\n", "", shown)
    shown = re.sub(r"sha256:[0-9a-f]{64}", "sha256:...", shown)
    shown = re.sub(r"file:/\S+/first\.wasm", "file:/.../first.wasm", shown)
    shown = re.sub(r"(size    )[\d.]+ \w+", r"\1...", shown)
    # Which tools built it, and what a language's library imports, is the compiler's business; that all of it is shown is ours.
    shown = re.sub(r"built-with .*\n", "built-with    ...\n", shown)
    head, imports = shown.split("\nIt imports (without a grant these return an error or nothing)\n")
    assert head == REVIEW, head
    imports, requests = imports.split("\n\nsuspicious passages")
    requests, asked = requests.split("\n\nWhich requests do you grant?")
    assert requests == REQUESTS, requests
    name = r"[\w:-]+/[\w-]+@[\w.-]+"
    named = sorted(re.findall(name, imports))
    looked_at = portcullis("check", "--no-compile", "first.wasm").stdout.split("\nimports\n")[1].split("\n\n")[0]
    assert named == sorted(re.findall(name, looked_at)), (named, looked_at)
    assert imports.index("files, of directories that you grant") < imports.index("the time, random numbers"), imports
    assert asked == ASKED, asked
    assert all(len(line) <= 104 for line in imports.splitlines()), imports


REVIEW = """edition 0\\u{202e}1

  to be   [plugins.edition]
  from    file:/.../first.wasm
  digest  sha256:...
  size    ...
  signed  by nobody: only the source vouches for its author

claims (not verified)
  licenses      MIT\\u{1b}[2J\\u{202e}
  source        https://forge.example/edition
  built-with    ...

tools
  run
    <|im|>
    input  {"type":"object","properties":{"path":{"type":"string"}}}

resources
  edition://text  text
    resource=A

prompts
  ask()
    prompt=A
"""

REQUESTS = """ (a hint, not a proof; models will read this text)
! the description of tool `run` marks text up as instructions: "<|im|>"

It requests
! filesystem     read
                   it reads all files of the directories that you name, and no others"""

ASKED = """ The others are refused when the plugin uses them.

(1 of 1) It reads all files of the directories that you name, and no others:
  filesystem = [{ host = "DIRECTORY", guest = "/PATH", access = "read" }]
  Which directory? (Enter: none, edit: write the line) """


def begin():
    session = Session("plugin", "install", "./first.wasm")
    session.expect(ASK)
    return session


def no():
    before = tree()
    session = begin()
    session.type("no")
    shown = session.expect(r"Its grants\n(.*?)" + FINAL)[1]
    assert "nothing: it can only compute" in shown and "! it is not signed" in shown, shown
    assert "! 1 passages of its text may try to manipulate models" in shown, shown
    session.type("n")
    session.expect("Nothing was installed.")
    assert session.ended() == 1 and tree() == before, tree()


def nothing():
    """Enter is no, everywhere."""
    before = tree()
    session = begin()
    session.type("")
    session.expect(FINAL)
    session.type("")
    session.expect("Nothing was installed.")
    assert session.ended() == 1 and tree() == before, tree()


def nonsense():
    """What means nothing grants nothing, and is asked again."""
    before = tree()
    session = begin()
    for said in ("perhaps", "yes please", "1", "\x1b[A", "y\u202ees"):
        session.type(said)
        session.expect(r"There is no directory .*?\n  " + ASK)
    session.type("y")
    session.expect(r"There is no directory .*?\n  " + ASK)
    session.type("n")
    session.expect(FINAL)
    session.type("sure")
    session.expect(r"y or n; Enter means no\.\n" + FINAL)
    session.press(b"\x03")
    session.raw = session.raw.replace(b"^[", b"").replace("\u202e".encode(), b"")  # the terminal's own echo of what was typed
    assert session.ended() == -signal.SIGINT and tree() == before, tree()


def end_of_input():
    before = tree()
    session = begin()
    session.press(b"\x04")
    session.expect("no answer at the terminal: nothing was changed")
    assert session.ended() == 1 and tree() == before, tree()
    session = begin()
    session.type("n")
    session.expect(FINAL)
    session.press(b"\x04")
    session.expect("Nothing was installed.")
    assert session.ended() == 1 and tree() == before, tree()


def interrupt():
    before = tree()
    for steps in ([], ["n"]):
        session = begin()
        for step in steps:
            session.type(step)
            session.expect(FINAL)
        session.press(b"\x03")
        assert session.ended() == -signal.SIGINT and tree() == before, tree()


def edit():
    """A line of one's own: what is no grant, or would have no effect, is said and asked again."""
    session = begin()
    for line, why in (
        ("filesystem = [", "is not a grant"),
        ("network = true", "unknown field `network`"),
        ('env = ["TZ"]', "`env` would have no effect: the plugin does not request it"),
    ):
        session.type("edit")
        session.expect("The line, or nothing to leave it out: ")
        session.type(line)
        session.expect(re.escape(why) + ".*?" + ASK)
    session.type("e")
    session.expect("The line, or nothing to leave it out: ")
    session.type("")
    shown = session.expect(r"Its grants\n(.*?)" + FINAL)[1]
    assert "nothing" in shown, shown
    session.type("n")
    assert session.ended() == 1
    session = begin()
    session.type("edit")
    session.expect("nothing to leave it out: ")
    session.type(GRANT)
    shown = session.expect(r"Its grants\n(.*?)" + FINAL)[1]
    assert f"  {GRANT}\n" in shown, shown
    session.type("Y")
    session.expect(r"\[plugins\.edition\] is installed and enabled")
    assert session.ended() == 0
    assert '{ host = "work", guest = "/work", access = "read" }' in tree()[0], tree()


def choose():
    """A directory and a path, in words; Enter takes the path that is proposed."""
    for path, seen in (("", "/work"), ("/elsewhere", "/elsewhere")):
        forget()
        session = begin()
        session.type("work")
        session.expect(r"Where does the plugin see it\? \[/work\] ")
        session.type(path)
        shown = session.expect(r"Its grants\n(.*?)" + FINAL)[1]
        assert f'host = "work", guest = "{seen}"' in shown, shown
        session.type("y")
        session.expect("is installed")
        assert session.ended() == 0 and f'{{ host = "work", guest = "{seen}", access = "read" }}' in tree()[0], tree()


def yes():
    session = begin()
    session.type("n")
    session.expect(FINAL)
    session.type("yes")
    session.expect("is installed and enabled")
    assert session.ended() == 0
    assert "grants" not in tree()[0], tree()


def long_review():
    """Whatever scrolled away: the last screen has what is decided."""
    session = Session("plugin", "install", "./many.wasm", "--name", "many")
    shown = session.expect("^(.*?)" + FINAL)[1]
    lines = shown.splitlines()
    assert all(f"  tool{n:03}" in lines for n in range(110)), shown
    last = lines[-20:]
    assert "Its grants" in last and "! it is not signed" in last, last
    session.type("n")
    assert session.ended() == 1


def claims():
    session = Session("plugin", "install", sys.argv[2], "--name", "claimed")
    shown = session.expect(r"claims \(not verified\)\n(.*?)\n\n")[1]
    lines = [line for line in shown.splitlines() if "built-with" not in line]
    assert lines == [
        "  licenses      MIT\\u{1b}[2J\\u{202e} (says the component)",
        "  source        https://forge.example/edition (says the component)",
        "  licenses      \\u{9b}31mfree (says the registry)",
        "  source        https://elsewhere.example (says the registry)",
        "  authors       " + "x" * 240 + "… (says the registry)",
    ], lines
    session.expect(ASK)
    session.type("n")
    session.expect(FINAL)
    session.type("y")
    session.expect("is installed")
    assert session.ended() == 0
    for arguments in (("list",), ("show", "claimed")):
        session = Session("plugin", *arguments)
        assert session.ended() == 0
        assert "MIT" in session.seen, session.seen
        assert "suspicious" in session.seen, session.seen
    assert "free (says the registry)" in session.seen, session.seen


def lies():
    """What a registry replies is shown escaped, too."""
    session = Session("plugin", "install", sys.argv[3])
    session.expect(r"error: ")
    assert session.ended() == 1
    assert "\\u{1b}" in session.seen, session.seen


def accept():
    """The difference, what needs consent first; no is the old version."""
    shutil.copy("published.wasm", "moving.wasm")
    assert portcullis("plugin", "install", "./moving.wasm", "--name", "moving", "--yes").returncode == 0
    shutil.copy("second.wasm", "moving.wasm")
    session = Session("plugin", "update", "moving")
    assert session.ended() == 0
    shown = session.seen
    assert "is staged until you accept it; the old version stays until then" in shown, shown
    difference(shown)
    before = tree()
    for answer, status in (("", 1), ("n", 1), ("\x04", 1)):
        session = Session("plugin", "accept", "moving")
        difference(session.expect(r"^(.*?)Accept it\? \[y/N\] ")[1])
        session.press(answer.encode() if answer == "\x04" else answer.encode() + b"\r")
        session.expect("The old version stays")
        assert session.ended() == status and tree() == before, tree()
    session = Session("plugin", "accept", "moving")
    session.expect(r"Accept it\? \[y/N\] ")
    session.press(b"\x03")
    assert session.ended() == -signal.SIGINT and tree() == before, tree()
    session = Session("plugin", "accept", "moving")
    session.expect(r"Accept it\? \[y/N\] ")
    session.type("y")
    session.expect("is updated")
    assert session.ended() == 0 and "staged" not in tree()[0]


def difference(shown):
    lines = shown.splitlines()
    grave = [at for at, line in enumerate(lines) if line.startswith("  ! ")]
    other = [at for at, line in enumerate(lines) if line.startswith("    ") and "claims licenses" in line]
    assert grave and other and max(grave) < min(other), shown
    for words in (
        "  ! its definitions of tools, resources and prompts have changed",
        "    claims licenses: MIT\\u{1b}[2J\\u{202e} -> GPL-3.0-only",
        "      - tool run description: tool=A",
        "      + tool run description: <|im|>",
        "suspicious passages (a hint, not a proof; models will read this text)",
        '! the description of tool `run` marks text up as instructions: "<|im|>"',
    ):
        assert words in lines, (words, shown)


def remove():
    before = tree()
    for answer in ("", "n", "what"):
        session = Session("plugin", "remove", "moving")
        session.expect(r"Remove \[plugins\.moving\] from file:\S+moving\.wasm, with its grants\? \[y/N\] ")
        session.type(answer)
        if answer == "what":
            session.expect(r"y or n; Enter means no\.\n.*?\[y/N\] ")
            session.press(b"\x04")
        session.expect("Nothing was removed.")
        assert session.ended() == 1 and tree() == before, tree()
    session = Session("plugin", "remove", "moving")
    session.expect(r"\[y/N\] ")
    session.type("y")
    session.expect("is removed")
    assert session.ended() == 0 and "moving" not in tree()[0]


if __name__ == "__main__":
    main()
