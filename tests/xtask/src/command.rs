//! Runs other programs and reports failures with what to do next.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::available_parallelism;

use anyhow::{Context, Result, bail};

use crate::stages::{self, Measured};

/// The cargo that runs us, so that a chosen toolchain stays in use.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    // Build scripts of dependencies look at it: with it, they would run again after every direct use of cargo.
    cargo.env_remove("CARGO_MANIFEST_DIR");
    // One compiler more than processors: some wait for the disk, and on a busy machine more of them get more of it.
    if env::var_os("CARGO_BUILD_JOBS").is_none() {
        let processors = available_parallelism().map_or(1, usize::from);
        cargo.env("CARGO_BUILD_JOBS", (processors + 1).to_string());
    }
    cargo
}

/// Runs a command with our own output streams; fails when it fails.
pub(crate) fn check(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", program(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", line(command));
    }
    Ok(())
}

/// Runs a command and returns what it wrote to stdout; stderr stays visible.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let out =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start {}", program(command)))?;
    if !out.status.success() {
        bail!("{} failed ({})", line(command), out.status);
    }
    String::from_utf8(out.stdout).with_context(|| format!("{} wrote something that is not text", program(command)))
}

/// Runs a command without showing its output, unless it fails.
pub(crate) fn quiet(command: &mut Command) -> Result<()> {
    let out = command.output().with_context(|| format!("cannot start {}", program(command)))?;
    if !out.status.success() {
        eprint!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        bail!("{} failed ({})", line(command), out.status);
    }
    Ok(())
}

/// Announces a step that may take a while, runs it, and prints how long it took. Between the two lines, cargo shows what it builds.
pub(crate) fn step<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("  {what} ...");
    let measured = Measured::begin();
    let done = work().with_context(|| format!("failed at: {what}"));
    match &done {
        Ok(_) => eprintln!("  {what}: {:.1} s", measured.elapsed().as_secs_f32()),
        Err(_) => eprintln!("  {what}: failed"),
    }
    stages::note(what, measured);
    done
}

fn program(command: &Command) -> String {
    Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The command as it would be typed, for messages.
fn line(command: &Command) -> String {
    let args = command.get_args().map(|arg| arg.to_string_lossy().into_owned());
    [program(command)].into_iter().chain(args).collect::<Vec<_>>().join(" ")
}
