//! Keeps a client over stdio connected. The process that the client starts serves nothing: it starts the one that does, which has
//! the same stdin and stdout, and starts another one if that is killed or is to be another version. Most agents never start a
//! server again that has ended.

use super::options::ConfigFile;
use super::stop_signals::Stops;
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
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The option of the process that serves.
pub(super) const SESSION_LOG: &str = "session-log";

/// How often a process may take the place of another in [`PERIOD`]. Bounds the work with a client or a plugin that kills each one.
const MAX_RESTARTS: usize = 5;
const PERIOD: Duration = Duration::from_secs(60);
/// The program of this process, also if its file was replaced.
const RUNNING: &str = "/proc/self/exe";

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
        let mut program = self.program.clone();
        loop {
            let mut serving = self.start(&program)?;
            let Ended { status, was_replaced } = self.wait(&mut serving, &mut signals).await?;
            let has = |flag| self.log.has(flag);
            if has(SessionFlag::ClientGone) || has(SessionFlag::Last) {
                return Ok(exit_code(status));
            }
            let is_installed = program == self.program;
            program.clone_from(&self.program);
            match has(SessionFlag::Serving) {
                true if was_replaced => tracing::info!("another process takes the place of the one that served"),
                true if self.restarts.may_be_one_more(SystemClock.awake()) => {
                    tracing::error!(%status, "the serving process has ended; another one takes its place")
                }
                true => {
                    let seconds = PERIOD.as_secs();
                    tracing::error!(%status, "the serving process has ended, as {MAX_RESTARTS} did within {seconds} s, so no other is started");
                    return Ok(exit_code(status));
                }
                // An update that went wrong must not end the session.
                false if self.log.has_been_served() && is_installed => {
                    tracing::error!(%status, "{} does not serve; the version that was started first goes on", program.display());
                    program = RUNNING.into();
                }
                false => return Ok(exit_code(status)),
            }
            self.log.begin_next_process()?;
        }
    }

    fn start(&self, program: &Path) -> anyhow::Result<Child> {
        // While a version is installed, the file may be missing or incomplete for a moment.
        let first = |error| {
            tracing::error!(%error, "{} cannot be started; the version that was started first goes on", program.display());
            self.spawn(Path::new(RUNNING))
        };
        self.spawn(program).or_else(first).context("cannot start the process that serves")
    }

    fn spawn(&self, program: &Path) -> std::io::Result<Child> {
        let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
        // No options come behind `--`.
        let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
        arguments.insert(end, format!("--{SESSION_LOG}={}", self.log.descriptor()).into());
        let mut command = Command::new(program);
        command.args(arguments);
        // A group of its own: signals for this one are passed on here, once.
        command.process_group(0).spawn()
    }

    /// Waits for its end, and passes on what this process is told.
    async fn wait(&self, serving: &mut Child, signals: &mut Signals) -> anyhow::Result<Ended> {
        let (mut is_stopping, mut was_replaced) = (false, false);
        loop {
            let to = tokio::select! {
                status = serving.wait() => return Ok(Ended { status: status?, was_replaced }),
                to = signals.next() => to,
            };
            let Some(id) = serving.id() else { continue };
            match to {
                To::Stop if is_stopping => signals::quit(id)?,
                To::Stop => {
                    is_stopping = true;
                    self.log.set(SessionFlag::Last)?;
                    signals::terminate(id)?;
                }
                To::Replace if was_replaced => tracing::info!("the serving process makes room already"),
                // It would be killed by the signal, and count as one that cannot serve.
                To::Replace if !self.log.has(SessionFlag::Serving) => {
                    tracing::warn!("SIGUSR2 is ignored, since the serving process has just been started; send it again")
                }
                To::Replace => {
                    was_replaced = true;
                    signals::terminate(id)?;
                }
            }
        }
    }
}

/// The end of a process that served.
struct Ended {
    status: ExitStatus,
    /// Whether it was told to make room for another one.
    was_replaced: bool,
}

/// What a signal tells this process to do.
enum To {
    Stop,
    /// Let another process serve, which may be another version.
    Replace,
}

struct Signals {
    stops: Stops,
    replace: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self { stops: Stops::listen()?, replace: signal(SignalKind::user_defined2())? })
    }

    async fn next(&mut self) -> To {
        tokio::select! {
            () = self.stops.next() => To::Stop,
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
