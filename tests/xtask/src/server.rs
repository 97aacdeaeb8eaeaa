//! Starts `portcullis serve`, or a program in front of it, and always stops it again.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// The first compilation of the plugins takes a while on a small machine.
const START: Duration = Duration::from_secs(120);

/// A running server; it is stopped when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
    /// The file that receives its stderr.
    pub(crate) log: PathBuf,
}

impl Server {
    /// Starts the server on a free port and waits until it listens, with all its plugins.
    pub(crate) fn start(portcullis: &mut Command, config: &Path, log: &Path) -> Result<Self> {
        Self::wait_for(portcullis.args(["serve", "--strict", "--http", "127.0.0.1:0", "--config"]).arg(config), log)
    }

    /// Starts a command that prints its listening address on stderr, and waits until it does.
    pub(crate) fn wait_for(command: &mut Command, log: &Path) -> Result<Self> {
        let mut file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start the server")?;
        let stderr = child.stderr.take().context("stderr is piped")?;
        let (found, url) = mpsc::channel();
        // Reads for as long as the server lives: a full pipe would block it.
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if let Some(url) = listening_on(&line) {
                    // The receiver is gone once the first address is known.
                    let _ = found.send(url.to_owned());
                }
                if writeln!(file, "{line}").is_err() {
                    break;
                }
            }
        });
        let mut server = Self { child, url: String::new(), log: log.to_path_buf() };
        // Fails at once when the server exits, because the thread then drops the sender.
        match url.recv_timeout(START) {
            Ok(url) => server.url = url,
            Err(_) => bail!("the server did not start; its last words:\n{}", server.last_words()),
        }
        Ok(server)
    }

    /// The end of its log, for error messages.
    pub(crate) fn last_words(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have exited already; nobody needs the error.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn listening_on(line: &str) -> Option<&str> {
    let url = line.split("listening on ").nth(1)?;
    url.split_whitespace().next().filter(|url| url.starts_with("http"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read_from_a_log_line() {
        let line = "2026-11-21T19:00:00Z  INFO listening on http://127.0.0.1:4031/mcp tools=6";
        assert_eq!(listening_on(line), Some("http://127.0.0.1:4031/mcp"));
        assert_eq!(listening_on("INFO listening on a socket"), None);
    }
}
