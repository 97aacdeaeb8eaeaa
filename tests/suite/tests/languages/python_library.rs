//! What a plugin in Python can import during a call: the standard library with its encodings and zones, packages with their data, and
//! what is sent by sockets.

use super::packages::Author;
use super::templates::{begin, run};
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use suite::{Home, portcullis};

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

/// In memory, also beside a folder that was granted. That the library looks for a real folder first is no refusal.
#[test]
fn temporary_files_need_no_grant() {
    const TOOL: &str = r#"

@tool
def move(to: str) -> str:
    """Moves a file out of memory and back."""
    import os
    import shutil
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        one, back = folder + "/one", folder + "/back"
        with open(one, "bw") as file:
            file.write(b"kept")
        try:
            os.rename(one, to)
            return "renamed"
        except OSError as error:
            said = error.strerror
        shutil.move(one, to)
        moved = open(to).read(), os.listdir(folder)
        shutil.move(to, back)
        kept = open(back).read()
    return f"{said}: {moved}, {kept}, {os.path.exists(to)}, {os.listdir('/tmp')}"
"#;
    let home = Home::new();
    let folder = begin(&home, "python");
    let work = folder.join("work");
    fs::create_dir(&work).unwrap();
    let add = |file: &str, text: &str| {
        let path = folder.join(file);
        fs::write(&path, fs::read_to_string(&path).unwrap() + text).unwrap();
    };
    add("pyproject.toml", "\n[tool.portcullis.requests]\nfilesystem = \"write\"\n");
    let grant = format!("grants.filesystem = [{{ host = {work:?}, guest = \"/work\", access = \"write\" }}]\n");
    add("portcullis.toml", &grant);
    add("hello_python.py", TOOL);
    run(&home, &folder, &["build"], |_| {});
    let call = ["call", "hello-python", "move", "to=/work/one", "--config", "hello-python/portcullis.toml"];
    let called = portcullis(&home, &call);
    assert_eq!(called.good().trim(), "Cross-device link: ('kept', []), kept, False, []");
    assert!(!called.stderr.contains("refused files"), "{called:?}");
}

/// `urllib` and all libraries above `http.client` write requests to a socket.
#[test]
fn a_request_of_a_library_goes_through_the_host() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/", server.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        let (stream, _) = server.accept().unwrap();
        let mut lines = BufReader::new(&stream).lines().map(Result::unwrap);
        let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        (&stream).write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx-kept: yes\r\n\r\nhello").unwrap();
        head
    });
    let home = Home::new();
    let folder = begin(&home, "python");
    let add = |file: &str, text: &str| {
        let path = folder.join(file);
        fs::write(&path, fs::read_to_string(&path).unwrap() + text).unwrap();
    };
    add("pyproject.toml", &format!("\n[tool.portcullis.requests]\nhttp = [\"GET {url}\"]\n"));
    add("portcullis.toml", &format!("grants.http = [{{ allow = \"GET {url}\", private = true }}]\n"));
    let tool = "\n\n@tool\ndef fetch(url: str) -> str:\n    \"\"\"Fetches.\"\"\"\n    import urllib.request\n    \
                answer = urllib.request.urlopen(url)\n    return answer.headers['x-kept'] + ' ' + answer.read().decode()\n";
    add("hello_python.py", tool);
    run(&home, &folder, &["build"], |_| {});
    let fetched = run(&home, &folder, &["call", "hello-python", "fetch", &format!("url={url}a?b=1")], |_| {});
    assert_eq!(fetched.trim(), "yes hello");
    let head = answering.join().unwrap();
    assert_eq!(head[0], "GET /v1/a?b=1 HTTP/1.1");
    let denied = portcullis(
        &home,
        &["call", "hello-python", "fetch", "url=https://example.com/", "--config", "hello-python/portcullis.toml"],
    );
    assert!(denied.stderr.contains("http `GET https://example.com/` is not requested by the plugin"), "{denied:?}");
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
