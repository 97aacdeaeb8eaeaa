"""A person at a terminal who answers the questions of a command, on a real pseudo-terminal.

    at_terminal.py ANSWERS COMMAND...

ANSWERS are lines, one for each question; ^D is the end of input. Prints what was seen and ends as the command did.
"""

import os
import sys

from terminal import Terminal

QUESTION = r"(\[y/N\]|\(yes / no\)|\(required\):) "

terminal = Terminal(sys.argv[2:], {"TERM": "xterm"})
for answer in sys.argv[1].split("\n"):
    terminal.expect(QUESTION)
    if answer == "^D":
        os.write(terminal.screen, b"\x04")
    else:
        terminal.type(answer)
while terminal.read(60):
    pass
_, status = os.waitpid(terminal.process, 0)
print(terminal.seen)
sys.exit(os.waitstatus_to_exitcode(status))
