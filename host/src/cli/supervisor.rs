//! Keeps a client over stdio connected while the process that serves is replaced. The process that the client starts does not
//! serve: it starts a second one, which serves on the same stdin and stdout, and starts another if that one is killed or is to
//! be another version. Most agents never restart a server that has ended.

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

/// The option by which the serving process gets the session log.
pub(super) const SESSION_LOG: &str = "session-log";

/// How many serving processes that ended are replaced within [`PERIOD`]. Bounds the work if a client or a plugin kills each
/// one.
const MAX_RESTARTS: usize = 5;
const PERIOD: Duration = Duration::from_secs(60);
/// The program of this process, also if its file was replaced.
const RUNNING: &str = "/proc/self/exe";

pub(super) struct Supervisor {
    log: SessionLog,
    /// The path of the program. There may be another version at the next start.
    program: PathBuf,
    restarts: Restarts,
}

/// The parts of the configuration that the supervisor reads. The serving process reports what is wrong with the file.
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
    /// None if a server of this configuration needs no supervisor, since it serves HTTP, or cannot have one: stdin and stdout
    /// are not pipes or sockets, or another process could not read the configuration again.
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

    /// Runs until the client ends, this process is told to stop, or a serving process ends in a way that another one would,
    /// too.
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        // One thread, since the serving process ends with the thread that has started it.
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
        // Options must come before `--`.
        let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
        arguments.insert(end, format!("--{SESSION_LOG}={}", self.log.descriptor()).into());
        let mut command = Command::new(program);
        command.args(arguments);
        // The serving process has its own group: it gets a signal for the supervisor's group only once, from the supervisor.
        command.process_group(0).spawn()
    }

    /// Waits until the serving process ends, and passes signals on to it meanwhile.
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
                // The signal would kill a process that does not serve yet, and it would count as one that cannot serve.
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

/// The times of recent restarts.
#[derive(Default)]
struct Restarts(VecDeque<Duration>);

impl Restarts {
    /// Counts one more restart. Returns false if there were too many.
    fn may_be_one_more(&mut self, now: Duration) -> bool {
        self.0.retain(|then| now.saturating_sub(*then) < PERIOD);
        let may_be = self.0.len() < MAX_RESTARTS;
        if may_be {
            self.0.push_back(now);
        }
        may_be
    }
}

/// The exit code as a shell reports it: for a signal, 128 plus its number.
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
