//! A server that is a program on this machine: its start, and what it writes to stderr.

use super::error::ConnectError;
use crate::settings::UpstreamSettings;
use platform::clock::Clock;
use platform::telemetry::printable;
use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Length of one logged line of a program's stderr, in bytes. Bounds what it can write into the log at once.
const MAX_LINE: u64 = 4 << 10;
/// Logged lines of a program in a period. Bounds what it can write into the log over time; the others are counted.
const MAX_LINES: u64 = 500;
const PERIOD: Duration = Duration::from_secs(10);

/// A program that runs, and the ends of its pipes.
pub(super) struct ProgramPipes {
    pub(super) child: Child,
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
}

/// Starts the program. Its environment holds only what the settings give it.
pub(super) fn start(settings: &UpstreamSettings, clock: Arc<dyn Clock>) -> Result<ProgramPipes, ConnectError> {
    let program = settings.command.first().cloned().unwrap_or_default();
    let fail = |error| ConnectError::Spawn(printable(&program).into_owned(), error);
    let mut command = Command::new(&program);
    command.args(&settings.command[1..]).env_clear().envs(settings.inherited.iter().map(|(key, value)| (key, value)));
    command.envs(&settings.env).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn().map_err(fail)?;
    let (Some(stdout), Some(stdin)) = (child.stdout.take(), child.stdin.take()) else {
        return Err(fail(io::Error::other("the program has no stdin and stdout")));
    };
    if let Some(stderr) = child.stderr.take() {
        tokio::spawn(log_stderr(settings.name.clone(), stderr, clock));
    }
    Ok(ProgramPipes { child, stdin, stdout })
}

/// Logs the program's stderr line by line until it exits.
async fn log_stderr(server: String, stderr: impl AsyncRead + Unpin, clock: Arc<dyn Clock>) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    let (mut began, mut lines) = (clock.now(), 0u64);
    let told = |lines: u64| match lines.saturating_sub(MAX_LINES) {
        0 => {}
        more => tracing::warn!(target: "upstream", server, "{more} more lines of the program's stderr are left out"),
    };
    loop {
        line.clear();
        match (&mut stderr).take(MAX_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return told(lines),
            Ok(_) => {}
        }
        if clock.now().saturating_duration_since(began) >= PERIOD {
            told(lines);
            (began, lines) = (clock.now(), 0);
        }
        lines += 1;
        if lines <= MAX_LINES {
            let text = String::from_utf8_lossy(&line);
            tracing::info!(target: "upstream", server, "{}", printable(text.trim_end()));
        }
    }
}
