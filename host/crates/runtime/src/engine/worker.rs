//! Compiles components in a child process. A malicious component can make the compiler loop, use up memory or panic,
//! and wasmtime does not promise otherwise; a child process can be limited and killed.

use super::cache::TrustedCode;
use super::profile::{self, Profile};
use platform::confine;
use policy::Metering;
use rustix::process::{Resource, Rlimit, Signal, setrlimit};
use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The hidden command under which the host's own binary is the worker.
pub const WORKER_COMMAND: &str = "compile-worker";
/// Address space of the worker. Bounds compile bombs that eat memory.
const MAX_ADDRESS_SPACE: u64 = 2 << 30;
/// CPU time of the worker, and what each MiB of component adds: a language runtime of 18 MiB legitimately takes half a
/// minute. Bounds compile bombs that loop, which are small.
const CPU_SECONDS: u64 = 20;
const CPU_SECONDS_PER_MIB: u64 = 4;
/// Wall-clock time of the worker, and what each MiB of component adds. Bounds a worker that neither computes nor ends.
const TIMEOUT: Duration = Duration::from_secs(30);
const TIMEOUT_PER_MIB: Duration = Duration::from_secs(8);
/// Compiled code of one component. Bounds memory: it is held in one buffer.
const MAX_CODE: u64 = 512 << 20;
/// Bytes that are read of the worker's stderr.
const MAX_ERROR_OUTPUT: u64 = 4 << 10;

#[derive(Debug, Clone)]
pub struct CompileWorker {
    program: PathBuf,
}

impl CompileWorker {
    /// `program` is the path of a `portcullis` binary.
    pub fn new(program: PathBuf) -> Self {
        Self { program }
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    /// Compiles a component. The error is a sentence for the operator.
    pub(super) async fn compile(&self, component: Cow<'_, [u8]>, profile: Profile) -> Result<TrustedCode, String> {
        let mut child = tokio::process::Command::new(&self.program)
            .args([WORKER_COMMAND, profile_name(profile)])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("the compile worker {} did not start: {error}", self.program.display()))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err("the compile worker has no pipes".into());
        };
        let work = async {
            let mut code = Vec::new();
            let mut error_output = String::new();
            let send = async {
                // Fails when the worker dies early; its exit status then says more than this error.
                let _ = stdin.write_all(&component).await;
                drop(stdin);
            };
            let mut stdout = stdout.take(MAX_CODE + 1);
            let mut stderr = stderr.take(MAX_ERROR_OUTPUT);
            let (_, code_read, _) =
                tokio::join!(send, stdout.read_to_end(&mut code), stderr.read_to_string(&mut error_output));
            code_read?;
            io::Result::Ok((code, error_output, child.wait().await?))
        };
        let timeout = time_limit(component.len());
        let (code, error_output, status) = tokio::time::timeout(timeout, work)
            .await
            .map_err(|_| format!("compiling took longer than {} s and was stopped", timeout.as_secs()))?
            .map_err(|error| format!("the compile worker failed: {error}"))?;
        if !status.success() {
            let error_output = error_output.trim();
            return Err(match error_output {
                "" if status.signal() == Some(Signal::SYS.as_raw()) => {
                    "the compiler made a system call that compiling does not need, and was stopped".to_owned()
                }
                "" => format!(
                    "compiling needed more than {} GiB of memory or {} s of CPU time and was stopped ({status})",
                    MAX_ADDRESS_SPACE >> 30,
                    cpu_seconds(component.len()),
                ),
                // Rust's message for a failed allocation; its size says nothing to the operator.
                _ if error_output.contains("memory allocation of")
                    && status.signal() == Some(Signal::ABORT.as_raw()) =>
                {
                    format!("compiling needed more than {} GiB of memory and was stopped", MAX_ADDRESS_SPACE >> 30)
                }
                _ => error_output.to_owned(),
            });
        }
        if code.len() as u64 > MAX_CODE {
            return Err(format!("the compiled code is larger than {} MiB", MAX_CODE >> 20));
        }
        Ok(TrustedCode::from_worker(code))
    }
}

/// The longest that a worker may take for so many bytes.
pub(super) fn time_limit(component: usize) -> Duration {
    TIMEOUT + TIMEOUT_PER_MIB * u32::try_from(component >> 20).unwrap_or(u32::MAX)
}

fn cpu_seconds(component: usize) -> u64 {
    CPU_SECONDS + CPU_SECONDS_PER_MIB * (component as u64 >> 20)
}

pub(super) fn profile_name(profile: Profile) -> &'static str {
    match profile {
        Metering::Fuel => "fuel",
        Metering::Ticks => "ticks",
    }
}

pub(super) fn profile_of(name: &str) -> Result<Profile, String> {
    match name {
        "fuel" => Ok(Metering::Fuel),
        "ticks" => Ok(Metering::Ticks),
        other => Err(format!("no such profile: {other}")),
    }
}

/// The worker's side: component on stdin, compiled code on stdout.
pub fn run_worker(profile: &str) -> Result<(), String> {
    let profile = profile_of(profile)?;
    let limit = |resource, value| setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) });
    limit(Resource::As, MAX_ADDRESS_SPACE)
        .and_then(|()| limit(Resource::Nofile, 16))
        .and_then(|()| limit(Resource::Fsize, 0))
        .and_then(|()| limit(Resource::Core, 0))
        .map_err(|error| format!("cannot limit the compile worker: {error}"))?;
    // From here on the process has its pipes and its memory, and nothing else.
    confine::worker().map_err(|error| error.to_string())?;
    let mut component = Vec::new();
    io::stdin().lock().read_to_end(&mut component).map_err(|error| error.to_string())?;
    limit(Resource::Cpu, cpu_seconds(component.len()))
        .map_err(|error| format!("cannot limit the compile worker: {error}"))?;
    let engine = profile::compile_only(profile).map_err(|error| format!("{error:#}"))?;
    let code = engine.precompile_component(&component).map_err(|error| format!("it does not compile: {error:#}"))?;
    io::stdout().lock().write_all(&code).map_err(|error| error.to_string())
}
