"""The end of `cargo xtask demo`: a person installs a stranger's plugin at a terminal, and meets its next version.

    demo_install.py PORTCULLIS COMPONENT

Runs in an empty folder. COMPONENT is the plugin `files`; its next version is the same component, whose manifest asks for one
thing more. What the program prints is passed on as it is. Anything that is not as it must be ends it with exit code 1.
"""

import json
import os
import re
import sys
import time
from pathlib import Path

from demo_agent import Shown, say

MANIFEST = re.compile(rb'\{"name":"files",[^\0]*?\}\}')
GRANT = 'filesystem = [{ host = "docs", guest = "/docs", access = "read" }]'


class Command(Shown):
    """One command, typed and seen."""

    def __init__(self, line, *words):
        print(f"\n$ portcullis {line}", flush=True)
        super().__init__([sys.argv[1], *(words or line.split())], {"TERM": "xterm", "COLUMNS": "112"})

    def ended(self, status=0):
        while self.read(0.2):
            pass
        self.linger(1)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            self.read(0.05)
            done, how = os.waitpid(self.process, os.WNOHANG)
            if done:
                while self.read(0.05):
                    pass
                if os.waitstatus_to_exitcode(how) != status:
                    sys.exit(f"it ended with status {os.waitstatus_to_exitcode(how)}")
                return self.seen
        sys.exit("it does not end")


def published(component, **changes):
    """The component as its author publishes it, with another manifest of the same length."""
    old = MANIFEST.search(component)[0]
    new = json.dumps(json.loads(old) | changes, separators=(",", ":")).encode()
    if len(new) > len(old):
        sys.exit("the new manifest does not fit")
    Path("files.wasm").write_bytes(component.replace(old, new.ljust(len(old))))


def read():
    command = Command("call files read '{\"path\": \"/docs/hello.txt\"}'", "call", "files", "read", '{"path": "/docs/hello.txt"}')
    if "Hello from the folder" not in command.ended():
        sys.exit("the file was not read")


def main():
    component = Path(sys.argv[2]).read_bytes()
    Path("docs").mkdir()
    Path("docs/hello.txt").write_text("Hello from the folder that was granted.\n")
    Path("portcullis.toml").write_text('[server]\nstate = "state"\n')
    published(component)
    say("D18: a stranger's plugin. It is looked at in a sandbox, and we say what it gets")
    install = Command("plugin install ./files.wasm")
    install.expect(r"Which directory\? ")
    install.write("edit")
    install.expect("to leave it out: ")
    install.write(GRANT)
    install.expect(r"Install it as \[plugins\.files\]\? \[y/N\] ")
    install.write("y")
    install.ended()
    read()
    say("Its next version wants more: it waits, and the one we agreed to goes on")
    asks = {"filesystem": "write", "http": ["POST https://sync.example.com"]}
    published(component, version="0.2.0", description="Reads, writes, syncs files.", requests=asks)
    if "is staged until you accept it" not in Command("plugin update").ended():
        sys.exit("it came in by itself")
    read()
    if "enabled, staged" not in Command("plugin list").ended():
        sys.exit("nothing waits")
    say("We look at what is different, and take it up without the network")
    accept = Command("plugin accept files")
    accept.expect(r"Grant this\? \[y/N/edit\] ")
    accept.write("n")
    accept.expect(r"Accept it\? \[y/N\] ")
    accept.write("y")
    accept.ended()
    asked = "http POST https://sync.example.com/"
    if "denied" not in Command(f"policy test files '{asked}'", "policy", "test", "files", asked).ended(status=1):
        sys.exit("it was not denied")
    say("And back again")
    Command("plugin rollback files").ended()
    read()
    print()


if __name__ == "__main__":
    main()
