"""What a person sees who types at the terminal of `portcullis agent` while other things happen, on an emulated screen.

    typing_ahead.py AGENT FOLDER SERVER...

SERVER... is the command of a server with the guests `slow-stream` and `large`.
"""

import os
import re
import sys
import termios

import pyte

from terminal import Terminal, wait_for

ROWS, COLUMNS = 24, 100


class Screen(Terminal):
    """A terminal whose screen never scrolls, so that all that was ever shown is on it."""

    size = (ROWS, COLUMNS)

    def __init__(self, command, environment):
        self.emulated = pyte.Screen(COLUMNS, 2000)
        self.stream = pyte.ByteStream(self.emulated)
        super().__init__(command, environment)

    def show(self, read):
        self.stream.feed(read)

    def lines(self):
        return [line.rstrip() for line in self.emulated.display if line.strip()]

    def count(self, pattern):
        return sum(bool(re.match(pattern, line)) for line in self.lines())

    def settle(self, pattern):
        """Waits until the last line is this."""

        def settled():
            while self.read(0.05):
                pass
            return re.fullmatch(pattern, self.lines()[-1])

        wait_for(settled, f"{pattern!r} is not the last of", self.lines)


def main():
    agent, folder, *server = sys.argv[1:]
    go = os.path.join(folder, "go")
    waiting = f"sh -c 'while [ ! -e {go} ]; do sleep 0.05; done; exec {' '.join(server)}'"
    environment = {"PORTCULLIS_STATE": os.path.join(folder, "typing-state"), "TERM": "xterm"}
    screen = Screen([agent, "agent", "--connect", f"demo={waiting}"], environment)
    typed_ahead(screen, go)
    typed_meanwhile(screen)
    completed(screen)
    paged(screen)
    screen.quit()
    print("all was as it should be")


def typed_ahead(screen, go):
    """Two lines and the beginning of a third, while the server is not connected yet."""
    wait_for(lambda: ready(screen), "the agent does not start", screen.lines)
    screen.type("servers")
    screen.type("calls")
    os.write(screen.screen, b"hist")
    with open(go, "w"):
        pass
    screen.expect("demo: connected")
    screen.settle("agent> hist")
    assert [screen.count(rf"agent> {line}$") for line in ("servers", "calls", "hist")] == [1, 1, 1], screen.lines()
    assert not screen.count("servers") and not screen.count("hist"), screen.lines()
    screen.type("ory")
    screen.settle("agent>")
    assert screen.count("agent> history$") == 1, screen.lines()


def ready(screen):
    """Whether the agent reads the terminal by the letter, which it does before it connects."""
    return not termios.tcgetattr(screen.screen)[3] & termios.ICANON


def typed_meanwhile(screen):
    """A line that is typed while forty chunks arrive is there once, below all of them."""
    screen.type('call slow-stream__run {"n": 40}')
    screen.expect("chunk 0")
    for letter in "say hello":
        os.write(screen.screen, letter.encode())
        screen.expect("chunk")
    screen.expect("40 parts")
    screen.settle("agent> say hello")
    assert screen.count("agent> s") == 2, screen.lines()
    screen.type("")
    screen.settle("agent>")


def completed(screen):
    os.write(screen.screen, b"to\t")
    screen.settle("agent> tools")
    os.write(screen.screen, b"d\t")
    screen.settle("agent> tools demo")
    screen.type("")
    screen.settle("agent>")
    os.write(screen.screen, b"call demo.sl\t")
    screen.settle("agent> call demo.slow-stream__run")
    screen.type(' {"n": 1}')
    screen.expect("1 parts")
    screen.settle("agent>")


def paged(screen):
    screen.type('call large__run {"n": 1}')
    call, pages = screen.expect(r"page 1 of (\d+); `show (\d+)`").group(2, 1)
    screen.settle("agent>")
    assert int(pages) > 300, pages
    screen.type(f"show {call}")
    screen.settle(rf"  page 1 of {pages}; Enter: next, q: stop")
    screen.type("")
    screen.settle(rf"  page 2 of {pages}; Enter: next, q: stop")
    screen.type("q")
    screen.settle("agent>")
    screen.type("show 999")
    screen.expect("there is no result of call 999")
    screen.settle("agent>")


if __name__ == "__main__":
    main()
