"""`cargo xtask demo agent`: a person at the terminal of `portcullis agent`, on a real pseudo-terminal.

    demo_agent.py PORTCULLIS CLIENTS FOLDER

CLIENTS is the folder of the demo's configuration, FOLDER is empty and for what the demo leaves behind. What the program
prints is passed on as it is; what is typed is typed here. Anything that is not as it must be ends it with exit code 1.
"""

import os
import re
import sys
import time
from pathlib import Path

from terminal import Terminal

# How fast a person types and reads; a pipe is no person.
HUMAN = sys.stdout.isatty() and not os.environ.get("CI")
COLOURED = sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def say(text):
    text = f"\n── {text} "
    line = text + "─" * max(0, 100 - len(text))
    print(f"\x1b[36m{line}\x1b[0m" if COLOURED else line, flush=True)


class Shown(Terminal):
    """A terminal that everybody sees."""

    def show(self, read):
        text = read.decode(errors="replace")
        if not COLOURED:
            text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", text)
        sys.stdout.write(text)
        sys.stdout.flush()

    def write(self, line):
        """Types a line as a person would."""
        for key in line:
            os.write(self.screen, key.encode())
            if HUMAN:
                self.read(0.02)
        if HUMAN:
            self.linger(0.4)
        os.write(self.screen, b"\r")

    def linger(self, seconds):
        """Time to read."""
        end = time.monotonic() + (seconds if HUMAN else 0)
        while (left := end - time.monotonic()) > 0:
            self.read(left)


def planning(terminal):
    say("D3: a server's tool plans a day. It calls our calendar back; nobody's model is asked")
    terminal.write('call planner__plan_day {"title": "Coffee with Ada", "from": "2026-12-01"}')
    since = terminal.at
    seen = terminal.expect(r"\[(\d+)\] office.*?calendar\.create_event.*?approve \d+")
    reads = len(re.findall(r"calendar\.free_slots: allow", terminal.seen[since:]))
    assert reads == 20, f"20 reading calls are allowed by the rule, not {reads}"
    say("Twenty calls only read: a rule lets them pass. One changes something: that is ours to decide")
    terminal.linger(2)
    terminal.write(f"approve {seen[1]}")
    terminal.expect(r"call \d+ is done\n[^\n]*\n")
    terminal.linger(2)


def reacting(terminal):
    say("D4: the server has news. It may not ask us anything: it puts an event into our inbox")
    terminal.write('call expense__check_policies {"now": "2026-11-30"}')
    consent = terminal.expect(r"\[(\d+)\][^\n]*policy\.effective.*?approve \d+")
    say("--on policy.effective=… would call submit_receipts. Whether to is asked first")
    terminal.linger(2)
    terminal.write(f"approve {consent[1]}")
    form = terminal.expect(r"\[(\d+)\] office[^\n]*asks you.*?answer \d+")
    terminal.linger(2)
    terminal.write(f"answer {form[1]}")
    terminal.expect(r"office │ [^\n]*: ")
    terminal.write("r1, r2")
    terminal.expect(r"call \d+ is done\n[^\n]*126\.50|call \d+ is done\n[^\n]*12650")
    say("The same news again is no second event: nothing happens")
    terminal.write('call expense__check_policies {"now": "2026-11-30"}')
    terminal.expect(r"call \d+ is done\n[^\n]*\n")
    terminal.linger(2)


def main():
    portcullis, clients, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    command = [
        portcullis,
        "agent",
        *("--config", str(clients / "demo-agent.toml"), "--rules", str(clients / "demo-rules.toml")),
        *("--state", str(folder / "agent-state")),
        *("--connect", f"office={portcullis} serve --config {clients / 'demo-office.toml'}"),
        *("--on", 'policy.effective=call office.expense__submit_receipts {"idempotencyKey": "november"}'),
    ]
    say("portcullis agent: our side, with a calendar of our own, connected to somebody else's server")
    environment = {"TERM": os.environ.get("TERM", "xterm") if COLOURED else "xterm", "COLUMNS": "110"}
    terminal = Shown(command, environment)
    terminal.expect("office: connected")
    terminal.expect("agent> ")
    terminal.write("tools office")
    terminal.expect("submit_receipts")
    planning(terminal)
    reacting(terminal)
    terminal.write("quit")
    while not terminal.is_over():
        terminal.read(0.1)
    events = list((folder / "calendar").iterdir())
    assert len(events) == 1, f"one event is in the calendar, not {len(events)}"
    print(f"\n\nOne event in the calendar, one submission. Both can be looked at in {folder}.")


if __name__ == "__main__":
    main()
