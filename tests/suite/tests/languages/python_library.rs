//! What a plugin in Python can import during a call: the standard library with its encodings and zones, packages with their data, and
//! what is sent by sockets.

use super::packages::Author;
use super::templates::{begin, run};
use serde_json::json;
use std::fs;
use suite::Home;

/// Builds a plugin whose tool evaluates this, and calls it.
fn evaluate(code: &str) -> serde_json::Value {
    let home = Home::new();
    let folder = begin(&home, "python");
    let file = folder.join("hello_python.py");
    let tool = format!(
        "\n\n@tool\ndef look() -> str:\n    \"\"\"Looks.\"\"\"\n    import json\n{code}\n    return json.dumps(seen)\n"
    );
    fs::write(&file, fs::read_to_string(&file).unwrap() + &tool).unwrap();
    run(&home, &folder, &["build"], |_| {});
    serde_json::from_str(&run(&home, &folder, &["call", "hello-python", "look"], |_| {})).unwrap()
}

#[test]
fn the_standard_library_is_there_in_a_call() {
    let seen = evaluate(
        r#"
    import importlib
    import os
    import tempfile
    from datetime import datetime
    from zoneinfo import ZoneInfo, available_timezones
    names = ("utf-8-sig", "cp1252", "idna", "punycode", "shift_jis", "koi8-r", "rot13")
    encoded = [__import__("codecs").encode("bücher" if name not in ("koi8-r", "rot13", "shift_jis") else "x", name) for name in names]
    late = [importlib.import_module(name).__name__ for name in ("colorsys", "email.mime.text", "xml.dom.minidom", "wave")]
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("kept")
        file.flush()
        kept = open(file.name).read()
    def refused(name):
        try:
            importlib.import_module(name)
        except ImportError as error:
            return str(error)
    seen = [len(encoded), encoded[1].hex(), encoded[2].decode(), late,
            datetime(2026, 7, 1, tzinfo=ZoneInfo("Europe/Oslo")).isoformat(), len(available_timezones()) > 400,
            kept, os.path.exists(file.name), refused("lzma"), refused("tkinter"), importlib.import_module("ssl").__name__]"#,
    );
    assert_eq!(
        seen,
        json!([
            7,
            "62fc63686572",
            "xn--bcher-kva",
            ["colorsys", "email.mime.text", "xml.dom.minidom", "wave"],
            "2026-07-01T00:00:00+02:00",
            true,
            "kept",
            false,
            "No module named 'lzma'",
            "No module named 'tkinter'",
            "ssl",
        ])
    );
}

#[test]
fn what_cannot_be_there_is_an_error_of_the_build_with_its_place() {
    let author = Author::new();
    author.change("hello.py", "import greetings\n", "");
    author.change("pyproject.toml", "dependencies = [\"greetings>=1\"]", "");
    author.change("hello.py", "return greetings.of(name)", "import lzma\n    return str(lzma)");
    let refused = author.build();
    let said = "hello.py:13: `lzma`: No module named 'lzma'; this part of the standard library needs compiled code";
    assert!(refused.refused().contains(said), "{refused:?}");
}
