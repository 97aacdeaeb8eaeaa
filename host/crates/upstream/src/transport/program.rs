//! A server that is a program on this machine: its start, and what it writes to stderr.

use super::error::ConnectError;
use crate::api::settings::UpstreamSettings;
use crate::server_input::line_rate::LineRate;
use platform::clock::Clock;
use platform::programs::{ProgramLife, StartedProgram};
use platform::telemetry::printable;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::net::unix::pipe::{Receiver, Sender};

/// Length of one logged line of a program's stderr, in bytes. Bounds what it can write into the log at once.
const MAX_LINE: u64 = 4 << 10;

/// A program that runs until this is dropped, and the ends of its pipes.
pub(super) struct ProgramPipes {
    pub(super) life: ProgramLife,
    pub(super) stdin: Sender,
    pub(super) stdout: Receiver,
}

/// Starts the program. Its environment holds only what the settings give it.
pub(super) async fn start(settings: &UpstreamSettings, clock: Arc<dyn Clock>) -> Result<ProgramPipes, ConnectError> {
    let name = settings.command.first().map(String::as_str).unwrap_or_default();
    let shown = printable(name).into_owned();
    let (starter, program) = (settings.starter.clone(), settings.program());
    let start = move || starter.start(&program.ok_or(io::ErrorKind::InvalidInput)?);
    let started = tokio::task::spawn_blocking(start).await.map_err(io::Error::from).flatten();
    let StartedProgram { stdin, stdout, stderr, life } = started.map_err(|error| ConnectError::Spawn(shown, error))?;
    tokio::spawn(log_stderr(settings.name.clone(), stderr, clock));
    Ok(ProgramPipes { life, stdin, stdout })
}

/// Logs the program's stderr line by line until it exits.
async fn log_stderr(server: String, stderr: impl AsyncRead + Unpin, clock: Arc<dyn Clock>) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    let rate = LineRate::new(clock, &server, "lines of the program's stderr");
    loop {
        line.clear();
        match (&mut stderr).take(MAX_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if rate.passes() {
            let text = String::from_utf8_lossy(&line);
            tracing::info!(target: "upstream", server, "{}", printable(text.trim_end()));
        }
    }
}
