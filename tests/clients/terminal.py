"""A person at the terminal of `portcullis agent`: what is typed and what is seen, on a real pseudo-terminal.

    terminal.py AGENT CONFIG FOLDER SERVER...

SERVER... is the command of a server with the guests `agent-calls`, `ask`, `steered` and `slow-stream`.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

PATIENCE = 60


class Terminal:
    """One run of the agent."""

    # Rows and columns. Wide, since lines with the paths of a machine are wrapped elsewhere on another one.
    size = (0, 200)

    def __init__(self, command, environment):
        self.seen = ""
        self.at = 0
        self.process, self.screen = pty.fork()
        if self.process == 0:
            # Whoever was started in the background ignores interrupts, and so would what it starts.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *self.size, 0, 0))
            os.execvpe(command[0], command, {**os.environ, **environment})

    def type(self, line):
        os.write(self.screen, line.encode() + b"\r")

    def read(self, patience):
        ready, _, _ = select.select([self.screen], [], [], patience)
        if not ready:
            return False
        try:
            read = os.read(self.screen, 65536)
        except OSError:  # the other side is gone
            return False
        self.show(read)
        self.seen += plain(read.decode(errors="replace"))
        return bool(read)

    def show(self, read):
        """For whoever looks on."""

    def expect(self, pattern):
        """Waits for what was not seen before; gives the match."""
        end = time.monotonic() + PATIENCE
        while True:
            match = re.compile(pattern, re.S).search(self.seen, self.at)
            if match:
                self.at = match.end()
                return match
            if time.monotonic() > end or not self.read(1) and self.is_over():
                sys.exit(f"{pattern!r} was never seen after\n{self.seen[self.at:]}\nwhat was seen in all:\n{self.seen}")

    def is_over(self):
        return os.waitpid(self.process, os.WNOHANG) != (0, 0)

    def kill(self):
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.screen)

    def quit(self):
        self.type("quit")
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            self.read(0.1)
            done, status = os.waitpid(self.process, os.WNOHANG)
            if done:
                assert os.waitstatus_to_exitcode(status) == 0, f"status {status}"
                return
        sys.exit(f"it does not end\n{self.seen}")


def plain(text):
    """Without what drives the terminal, except the strong letters, which are shown as *letters*."""
    text = text.replace("\x1b[1m", "*").replace("\x1b[0m", "*")
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", text)


def steps(*calls):
    """Arguments of `agent-calls` that make these reverse calls, one after the other."""
    import json

    script = [{"call": {"name": "echo.run", "arguments": {"n": n}, "purpose": purpose}} for n, purpose in calls]
    return json.dumps({"path": json.dumps(script)})


def main():
    agent, config, folder, *server = sys.argv[1:]
    opened = os.path.join(folder, "opened")
    browser = os.path.join(folder, "browser")
    with open(browser, "w") as file:
        file.write(f'#!/bin/sh\necho "$1" >> {opened}\n')
    os.chmod(browser, 0o755)
    environment = {"PORTCULLIS_STATE": os.path.join(folder, "agent-state"), "TERM": "xterm", "COLUMNS": "200"}
    command = [agent, "agent", "--config", config, "--browser", browser]
    first = Terminal([*command, "--connect", "demo=" + " ".join(server)], environment)
    first.expect("demo: connected")
    first.expect("agent> ")
    approvals(first)
    questions(first, opened)
    running(first)
    remembered(first, command, environment)
    print("all was as it should be")


def approvals(terminal):
    terminal.type("call agent-calls__run " + steps((1, "a purpose\x1b[2J"), (2, "two"), (3, "three")))
    seen = terminal.expect(r"\*\[1\] demo.*?echo\.run.*\"n\": 1.*\n    │ a purpose.*?\n    approve 1")
    assert "agent-calls" in seen[0], seen[0]
    terminal.type("waiting")
    terminal.expect(r"\[1\] demo")
    terminal.type("approve 1")
    terminal.expect(r"\[2\] demo")
    terminal.type('edit 2 {"n": "nine"}')
    terminal.expect("error: that does not match")
    terminal.type('edit 2 {"n": 9}')
    terminal.expect(r"\[3\] demo")
    terminal.type("deny 3 not today")
    # The answer is wrapped.
    result = terminal.expect(r"call 1 is done\n(    │ [^\n]*\n)+.*not today.*")[0].replace("\n    │ ", "")
    assert '"n":1' in result.replace("\\", "") and '"n":9' in result.replace("\\", ""), result
    assert "declined" in result and "not today" in result, result


def questions(terminal, opened):
    terminal.type('call ask__run {"path": "form"}')
    number = terminal.expect(r"\[(\d+)\] demo[^\n]*asks you.*?│ What is your name\?")[1]
    terminal.type(f"answer {number}")
    terminal.expect(r"demo │ [^\n]*name[^\n]*: ")
    terminal.type("Ada")
    terminal.expect(r"is done\n    │ [^\n]*Ada")
    terminal.type('call ask__run {"path": "url"}')
    page = terminal.expect(r"\[(\d+)\] demo[^\n]*open a page.*?https://\*example\.com\*/page\?q=1\n")
    assert not os.path.exists(opened), "it was opened before anybody agreed"
    terminal.type(f"approve {page[1]}")
    # The page is opened beside the call: either may be told first.
    told = terminal.expect(r"(opened: https://example\.com/page\?q=1|is done\n    │ accepted)")[0]
    terminal.expect(r"is done\n    │ accepted" if "opened" in told else r"opened: https://example\.com/page\?q=1")
    wait_for(lambda: os.path.exists(opened))
    terminal.type('call ask__run {"path": "sample"}')
    number = terminal.expect(r"\[(\d+)\] demo.*?asks a model, but none is\s+configured")[1]
    terminal.type(f"answer {number} Lutetia")
    terminal.expect(r"is done\n    │ [^\n]*Lutetia")


def running(terminal):
    terminal.type("call steered__run")
    terminal.expect(r"chunk 0: ready")
    terminal.type("steer make it a comedy")
    terminal.expect(r"chunk 1(?: \(.*?\))?: make it a comedy")
    terminal.type("steer stop")
    terminal.expect(r"is done\n    │ heard 1")
    terminal.type('call slow-stream__run {"n": 1000}')
    number = terminal.expect(r"call (\d+), chunk 0: part 0")[1]
    terminal.type(f"cancel {number}")
    terminal.expect(rf"call {number} failed\n    │ cancelled")


def remembered(terminal, command, environment):
    terminal.type("call agent-calls__run " + steps((4, "always")))
    number = terminal.expect(r"\[(\d+)\] demo.*?echo\.run")[1]
    terminal.type(f"approve {number} always")
    terminal.expect("is done")
    terminal.type("call steered__run")
    terminal.expect("chunk 0: ready")
    terminal.kill()
    second = Terminal(command, environment)
    second.expect("demo: connected")
    second.expect("1 calls were left open")
    second.type("calls")
    short = second.expect(r"([0-9a-f]{8}): demo\.steered__run [^\n]*left open")[1]
    second.type("call agent-calls__run " + steps((5, "again")))
    second.expect(r"echo\.run: allow \(the user, who said always\)")
    second.expect("is done")
    second.type(f"repeat {short}")
    second.expect("chunk 0: ready")
    second.type("steer stop")
    second.expect("│ heard 0")
    second.type("calls")
    assert "left open" not in second.expect(r"(?:\n|> )1: .*?\n2: [^\n]*")[0]
    second.type("forget demo")
    second.expect("demo is forgotten")
    second.type("servers")
    second.expect("none; connect")
    second.quit()


def wait_for(condition, what="it never happened", about=str):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"{what}\n{about()}")
        time.sleep(0.01)


if __name__ == "__main__":
    main()
