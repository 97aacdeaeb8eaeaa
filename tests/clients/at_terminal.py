"""A person at a terminal who answers the questions of a command, on a real pseudo-terminal.

    at_terminal.py TERM ANSWERS COMMAND...

TERM is the kind of terminal. ANSWERS are lines, one for each question; ^D is the end of input, and `-` means that no question comes. Prints
what was seen and ends as the command did.
"""

import os
import sys

from terminal import Terminal

QUESTION = r"(\[y/N\]|\(yes / no\)|\(required\):|\(it is not shown\):) "

kind, answers, *command = sys.argv[1:]
terminal = Terminal(command, {"TERM": kind})
for answer in answers.split("\n") if answers != "-" else []:
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
