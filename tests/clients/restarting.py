"""A person at the terminal of `portcullis agent`, which is killed while calls wait for the person.

    restarting.py AGENT FOLDER SERVER...

SERVER... is the command of a server with the guests `ask` and `job`, whose state outlives it.
"""

import os
import signal
import sys

from terminal import Terminal, wait_for


def children(process):
    """The processes that all threads of a process have started."""
    threads = f"/proc/{process}/task"
    return {int(child) for thread in os.listdir(threads) for child in open(f"{threads}/{thread}/children").read().split()}


def main():
    agent, folder, *server = sys.argv[1:]
    environment = {"PORTCULLIS_STATE": os.path.join(folder, "agent-state"), "TERM": "xterm", "COLUMNS": "200"}
    command = [agent, "agent"]
    first = Terminal([*command, "--connect", "demo=" + " ".join(server)], environment)
    first.expect("demo: connected")
    first.type('call ask__run {"path": "confirm"}')
    first.expect(r"\[1\] demo[^\n]*asks you.*?│ Really\?")
    first.type('call job__only {"path": "names"}')
    first.expect(r"\[2\] demo[^\n]*asks you.*?│ Who is first\?")
    # Its server is killed, too, while somebody looks at the questions; they are answered in time to another one.
    first.type('call ask__run {"path": "form"}')
    first.expect(r"\[3\] demo[^\n]*asks you.*?│ What is your name\?")
    (serving,) = children(first.process)
    os.kill(serving, signal.SIGKILL)
    wait_for(lambda: children(first.process) - {serving})
    wait_for(lambda: connected(first))
    first.type('answer 3 {"name": "Eva"}')
    first.expect(r'call 3 is done\n    │ {"name":"Eva"}')
    # It is forgotten after it was shown: who is killed in between shows it again.
    first.type("wait 3")
    first.type("calls")
    first.expect(r"3: demo\.ask__run done")
    first.kill()

    second = Terminal(command, environment)
    second.expect("demo: connected")
    second.expect(r"2 calls go on:\n  1: demo\.ask__run, which asked something, begun [^\n]*\n  2: demo\.job__only, a task")
    for _ in range(3):
        asked = second.expect(r"\[(\d+)\] demo[^\n]*asks you.*?│ (Really|Who is first|Who is second)\?")
        second.type(f"answer {asked[1]} " + ('{"ok": true}' if asked[2] == "Really" else '{"name": "Ada"}'))
    # Either may end before the other one's last question.
    for end in [r'call 1 is done\n    │ {"ok":true}', r'call 2 is done\n    │ said: {"name":"Ada"}, {"name":"Ada"}']:
        second.at = 0
        second.expect(end)
    assert second.seen.count("is done") == 2, second.seen
    # Left on purpose this time.
    second.type('call job__only {"path": "names"}')
    number = second.expect(r"\[(\d+)\] demo[^\n]*asks you.*?│ Who is first\?")[1]
    second.quit()
    assert "1 call stays open on the server" in second.seen, second.seen

    third = Terminal(command, environment)
    third.expect(r"1 call goes on:\n  1: demo\.job__only, a task")
    third.expect(r"\[1\] demo[^\n]*asks you")
    third.type("cancel 1")
    third.expect(r"\[1\] was withdrawn")
    third.expect(r"call 1 failed\n    │ cancelled")
    third.type("wait 1")
    third.type("calls")
    third.expect(r"1: demo\.job__only failed")
    assert "left open" not in third.seen and "[2]" not in third.seen, third.seen
    third.quit()
    print("all was as it should be")


def connected(terminal):
    terminal.type("servers")
    return terminal.expect(r"\((connected:[^)]*|reconnecting)\)")[1] != "reconnecting"


if __name__ == "__main__":
    main()
