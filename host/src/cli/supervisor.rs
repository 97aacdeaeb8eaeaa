//! Keeps a client over stdio connected. The process that the client starts serves nothing: it starts the one that does, which has
//! the same stdin and stdout, and starts another one if that is killed or is to be another version. Most agents never start a
//! server again that has ended.

use super::options::ConfigFile;
use anyhow::Context;
use platform::clock::{Clock, SystemClock};
use platform::session_log::{SessionFlag, SessionLog};
use platform::signals;
use platform::standard_streams::are_pipes_or_sockets;
use platform::telemetry::{LogFormat, set_log_format};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The option of the process that serves.
pub(super) const SESSION_LOG: &str = "session-log";

/// How often a process may take the place of another in [`PERIOD`]. Bounds the work with a client or a plugin that kills each one.
const MAX_RESTARTS: usize = 5;
const PERIOD: Duration = Duration::from_secs(60);

pub(super) struct Supervisor {
    log: SessionLog,
    /// Where the program is. It may be another one when it is started again.
    program: PathBuf,
    restarts: Restarts,
}

/// What it reads of the configuration. What is wrong with the file is told by the process that would serve.
#[derive(Deserialize)]
struct Tables {
    #[serde(default)]
    server: ServerTable,
    #[serde(default)]
    telemetry: TelemetryTable,
}

#[derive(Deserialize, Default)]
struct ServerTable {
    http: Option<IgnoredAny>,
}

#[derive(Deserialize, Default)]
struct TelemetryTable {
    #[serde(default)]
    log: LogFormat,
}

impl Supervisor {
    /// None if a server of this configuration needs none, or cannot have one: its client is not at the other end of pipes or sockets,
    /// or what another process needs cannot be read again.
    pub(super) fn for_config(file: &ConfigFile) -> Option<Self> {
        if !file.config.is_file() || !are_pipes_or_sockets() {
            return None;
        }
        let tables: Tables = toml::from_str(&std::fs::read_to_string(&file.config).ok()?).ok()?;
        if tables.server.http.is_some() {
            return None;
        }
        set_log_format(tables.telemetry.log);
        let (log, program) = (SessionLog::create().ok()?, std::env::current_exe().ok()?);
        Some(Self { log, program, restarts: Restarts::default() })
    }

    /// Runs until the client ends, or this process is told to stop, or the one that serves ends in a way that another would, too.
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        // One thread: the process that serves ends with the thread that has started it.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(self.supervise())
    }

    async fn supervise(mut self) -> anyhow::Result<ExitCode> {
        let mut signals = Signals::listen()?;
        loop {
            let mut serving = self.start()?;
            let status = self.wait(&mut serving, &mut signals).await?;
            let has = |flag| self.log.has(flag);
            if !has(SessionFlag::Serving) || has(SessionFlag::ClientGone) || has(SessionFlag::Last) {
                return Ok(exit_code(status));
            }
            if !self.restarts.may_be_one_more(SystemClock.awake()) {
                let seconds = PERIOD.as_secs();
                tracing::error!(%status, "the serving process has ended, as {MAX_RESTARTS} did within {seconds} s, so no other is started");
                return Ok(exit_code(status));
            }
            match status.success() {
                true => tracing::info!("another process takes the place of the one that served"),
                false => tracing::error!(%status, "the serving process has ended; another one takes its place"),
            }
            self.log.begin_next_process()?;
        }
    }

    fn start(&self) -> anyhow::Result<Child> {
        // While a version is installed, the file may be missing for a moment.
        let running = PathBuf::from("/proc/self/exe");
        let program = if self.program.is_file() { &self.program } else { &running };
        let mut command = Command::new(program);
        command.args(std::env::args_os().skip(1)).arg(format!("--{SESSION_LOG}={}", self.log.descriptor()));
        // A group of its own: signals for this one are passed on here, once.
        command.process_group(0);
        command.spawn().with_context(|| format!("cannot start {}", program.display()))
    }

    /// Waits for its end, and passes on what this process is told.
    async fn wait(&self, serving: &mut Child, signals: &mut Signals) -> anyhow::Result<ExitStatus> {
        loop {
            let is_last = tokio::select! {
                status = serving.wait() => return Ok(status?),
                to = signals.next() => matches!(to, To::Stop),
            };
            if is_last {
                self.log.set(SessionFlag::Last)?;
            }
            if let Some(id) = serving.id() {
                signals::terminate(id)?;
            }
        }
    }
}

/// What a signal tells this process to do.
enum To {
    Stop,
    /// Let another process serve, which may be another version.
    Replace,
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Option<Signal>,
    replace: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: if signals::is_hangup_ignored() { None } else { Some(signal(SignalKind::hangup())?) },
            replace: signal(SignalKind::user_defined2())?,
        })
    }

    async fn next(&mut self) -> To {
        tokio::select! {
            _ = self.terminate.recv() => To::Stop,
            _ = self.interrupt.recv() => To::Stop,
            Some(_) = async { self.hangup.as_mut()?.recv().await } => To::Stop,
            _ = self.replace.recv() => To::Replace,
        }
    }
}

/// When processes took the place of others.
#[derive(Default)]
struct Restarts(VecDeque<Duration>);

impl Restarts {
    /// Counts one more, if there may be one.
    fn may_be_one_more(&mut self, now: Duration) -> bool {
        self.0.retain(|then| now.saturating_sub(*then) < PERIOD);
        let may_be = self.0.len() < MAX_RESTARTS;
        if may_be {
            self.0.push_back(now);
        }
        may_be
    }
}

/// As a shell has it.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_end_at_once_are_not_replaced_for_ever() {
        let mut restarts = Restarts::default();
        let at = Duration::from_secs;
        assert!((0..5).all(|second| restarts.may_be_one_more(at(second))));
        assert!(!restarts.may_be_one_more(at(59)));
        assert!(restarts.may_be_one_more(at(60)), "the first was a minute ago");
        assert!(!restarts.may_be_one_more(at(60)));
        assert!((1..100).all(|hour| restarts.may_be_one_more(at(3_600 * hour))));
    }

    #[test]
    fn the_status_is_that_of_the_process() {
        assert_eq!(exit_code(ExitStatus::from_raw(3 << 8)), ExitCode::from(3));
        assert_eq!(exit_code(ExitStatus::from_raw(9)), ExitCode::from(137));
    }
}
