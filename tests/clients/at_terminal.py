"""A person at a terminal who gives one answer to the one question of a command, on a real pseudo-terminal.

    at_terminal.py ANSWER COMMAND...

Prints what was seen and ends as the command did.
"""

import os
import sys

from terminal import Terminal

terminal = Terminal(sys.argv[2:], {"TERM": "xterm"})
terminal.expect(r"\[y/N\] ")
terminal.type(sys.argv[1])
while terminal.read(60):
    pass
_, status = os.waitpid(terminal.process, 0)
print(terminal.seen)
sys.exit(os.waitstatus_to_exitcode(status))
