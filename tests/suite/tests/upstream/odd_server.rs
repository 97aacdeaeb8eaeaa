//! A server that misbehaves, over stdio or over HTTP.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use suite::paths;

/// Configures an upstream server that misbehaves in the way that `kind` names.
pub(crate) fn misbehaving(kind: &str, settings: &str) -> String {
    let script = paths::root().join("tests/suite/tests/upstream/server.py");
    let (python, script) = (paths::python().display().to_string(), script.display().to_string());
    format!("[upstream.odd]\ncommand = [{python:?}, {script:?}, {kind:?}]\n{settings}\n\n")
}

/// Such a server over HTTP, until it is dropped.
pub(super) struct Remote {
    child: Child,
    port: u16,
}

impl Remote {
    pub(super) fn start(kind: &str) -> Self {
        let script = paths::root().join("tests/suite/tests/upstream/server.py");
        let mut command = Command::new(paths::python());
        let mut child = command.arg(script).args([kind, "http"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, port: line.trim().parse().unwrap() }
    }

    pub(super) fn config(&self, path: &str) -> String {
        format!("[upstream.odd]\nurl = \"http://127.0.0.1:{}{path}\"\n\n", self.port)
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
