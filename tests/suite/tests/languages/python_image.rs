//! What `portcullis build` arranges in the image of Python's memory, and that all else is as in any Python.

use super::templates::{begin, imports, run};
use serde_json::json;
use std::fs;
use suite::Home;

#[test]
fn the_image_of_python_is_arranged() {
    let home = Home::new();
    let folder = begin(&home, "python");
    let file = folder.join("hello_python.py");
    fs::write(&file, fs::read_to_string(&file).unwrap() + LOOK).unwrap();
    // The text that a build runs has this name, too.
    fs::write(folder.join("run.py"), "WHOSE = 'of the author'\n").unwrap();
    run(&home, &folder, &["build"], |command| {
        command.env("PIP_NO_INDEX", "1");
    });
    let imports = imports(&folder.join("hello-python.wasm"));
    for out_of_reach in ["wasi:sockets/tcp", "wasi:sockets/udp"] {
        assert!(!imports.iter().any(|name| name == out_of_reach), "{imports:?}");
    }
    let look = || -> serde_json::Value {
        serde_json::from_str(&run(&home, &folder, &["call", "hello-python", "look"], |_| {})).unwrap()
    };
    let (first, second) = (look(), look());
    for at in 0..3 {
        assert_ne!(first["random"][at], second["random"][at], "the image has no random numbers");
    }
    for mut seen in [first, second] {
        seen["random"].take();
        let expected = json!({
            "random": null, "resumed": true, "seeded": [42, 0.947865], "immortal": [true, true, true], "new is mortal": true, "names": ["Ada", "Grace"],
            "together": true, "dies": true, "collected": true, "environment": [0, "_Environ"],
            "run.py": "of the author",
            "http": "this plugin requests no HTTP: name the hosts under `requests` in pyproject.toml",
            "out of reach": ["FileNotFoundError", "PermissionError", "FileNotFoundError", "OSError", "''"],
        });
        assert_eq!(seen, expected);
    }
}

const LOOK: &str = r#"

import gc
import json
import os
import random
import run
import socket
import sys
import weakref
from portcullis_guest import ToolError, http
from random import getrandbits

NAMES = ["Ada"]
# A module may use numbers while it is loaded, and set variables.
EARLY = random.random()
os.environ["EARLY"] = "yes"


class Knot:
    pass


KNOT = Knot()


def unsent():
    try:
        return repr(http.get("https://example.com"))
    except ToolError as error:
        return str(error)


def refusal(use):
    try:
        return repr(use())
    except OSError as error:
        return type(error).__name__


@tool
def look() -> str:
    """Looks at the memory."""
    NAMES.append("Grace")
    new = [Knot() for _ in range(100)]
    places = sorted(map(id, new))
    gone = weakref.ref(new.pop())
    knot = Knot()
    knot.itself, KNOT.knot = knot, knot
    tied = weakref.ref(knot)
    del knot, KNOT.knot
    gc.unfreeze()
    gc.collect()
    numbers = [random.random(), random.gauss(), getrandbits(64)]
    state = random.getstate()
    going_on = random.random()
    random.seed()
    random.setstate(state)
    resumed = random.random() == going_on
    random.seed(7)
    return json.dumps({
        "random": numbers,
        "resumed": resumed,
        "seeded": [random.randint(1, 100), round(random.random(), 6)],
        "immortal": [sys._is_immortal(one) for one in (NAMES, Knot, KNOT)],
        "new is mortal": not sys._is_immortal(new),
        "names": NAMES,
        # Most of them: what is freed last lies where it lies.
        "together": places[-25] - places[25] < 32 * 1024 and places[25] > id(NAMES),
        "dies": gone() is None,
        "collected": tied() is None,
        "environment": [len(os.environ), type(os.environ).__name__],
        "run.py": run.WHOSE,
        "http": unsent(),
        "out of reach": [refusal(lambda: open("/etc/passwd")), refusal(socket.socket), refusal(lambda: os.listdir("/")),
                         refusal(lambda: os.fstat(3)), refusal(lambda: sys.stdin.read())],
    })
"#;
