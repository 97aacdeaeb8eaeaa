//! What a plugin in Python can import during a call: the standard library with its encodings and zones, packages with their data, and
//! what is sent by sockets.

use super::packages::Author;
use super::templates::{begin, run};
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use suite::{Home, Ran, portcullis};

/// Three tools: what of the standard library is there, moving a file out of memory and back, and a request.
const TOOLS: &str = r#"

@tool
def look() -> str:
    """Looks."""
    import json
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
            kept, os.path.exists(file.name), refused("lzma"), refused("tkinter"), importlib.import_module("ssl").__name__]
    return json.dumps(seen)

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

@tool
def fetch(url: str) -> str:
    """Fetches."""
    import urllib.request
    answer = urllib.request.urlopen(url)
    return answer.headers['x-kept'] + ' ' + answer.read().decode()
"#;

/// One plugin for all of it, since to build one in Python takes long.
#[test]
fn the_library_of_python_works_in_a_call() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1/", server.local_addr().unwrap());
    let home = Home::new();
    let folder = begin(&home, "python");
    let work = folder.join("work");
    fs::create_dir(&work).unwrap();
    let add = |file: &str, text: &str| {
        let path = folder.join(file);
        fs::write(&path, fs::read_to_string(&path).unwrap() + text).unwrap();
    };
    let requests = format!("\n[tool.portcullis.requests]\nfilesystem = \"write\"\nhttp = [\"GET {url}\"]\n");
    add("pyproject.toml", &requests);
    let folders = format!("grants.filesystem = [{{ host = {work:?}, guest = \"/work\", access = \"write\" }}]\n");
    add("portcullis.toml", &format!("{folders}grants.http = [{{ allow = \"GET {url}\", private = true }}]\n"));
    add("hello_python.py", TOOLS);
    run(&home, &folder, &["build"], |_| {});
    let call = |arguments: &[&str]| {
        let all = [&["call", "hello-python"], arguments, &["--config", "hello-python/portcullis.toml"]].concat();
        portcullis(&home, &all)
    };
    the_standard_library_is_there(&call(&["look"]));
    temporary_files_are_in_memory(&call(&["move", "to=/work/one"]));
    let answering = std::thread::spawn(move || answer_one(&server));
    let fetched = call(&["fetch", &format!("url={url}a?b=1")]);
    assert_eq!(fetched.good().trim(), "yes hello");
    assert_eq!(answering.join().unwrap()[0], "GET /v1/a?b=1 HTTP/1.1");
    let denied = call(&["fetch", "url=https://example.com/"]);
    assert!(denied.stderr.contains("http `GET https://example.com/` is not requested by the plugin"), "{denied:?}");
}

fn the_standard_library_is_there(called: &Ran) {
    let seen: serde_json::Value = serde_json::from_str(called.good()).unwrap();
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

/// Also beside a folder that was granted. That the library looks for a real folder first is no refusal.
fn temporary_files_are_in_memory(called: &Ran) {
    assert_eq!(called.good().trim(), "Cross-device link: ('kept', []), kept, False, []");
    assert!(!called.stderr.contains("refused files"), "{called:?}");
}

/// The head of a request. `urllib` and all libraries above `http.client` write it to a socket, as they think.
fn answer_one(server: &TcpListener) -> Vec<String> {
    let (stream, _) = server.accept().unwrap();
    let mut lines = BufReader::new(&stream).lines().map(Result::unwrap);
    let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    (&stream).write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx-kept: yes\r\n\r\nhello").unwrap();
    head
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
