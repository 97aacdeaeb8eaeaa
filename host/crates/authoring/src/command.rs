//! Runs other programs, and announces what is done.

use anyhow::{Context, bail};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether steps are announced. For all of this process, as the colours are.
static ANNOUNCED: AtomicBool = AtomicBool::new(true);

/// From now on no steps are announced, so that only the tools themselves print something.
pub fn announce_nothing() {
    ANNOUNCED.store(false, Ordering::Relaxed);
}

pub(crate) fn is_announced() -> bool {
    ANNOUNCED.load(Ordering::Relaxed)
}

/// Prints a note, which is not an error.
pub(crate) fn note(what: &str) {
    if is_announced() {
        eprintln!("  note: {what}");
    }
}

/// Announces a step that takes a while, and runs it.
pub(crate) fn step<T>(what: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    if !is_announced() {
        return work();
    }
    eprint!("  {what} ... ");
    let done = work();
    eprintln!("{}", if done.is_ok() { "done" } else { "failed" });
    done
}

/// Runs a program whose output is of interest only if it fails. Returns what it wrote to stdout.
pub(crate) fn quiet(command: &mut Command, missing: &str) -> anyhow::Result<String> {
    let out = start(command, missing)?;
    if !out.status.success() {
        let said = [out.stdout, out.stderr].concat();
        bail!("{} failed:\n{}", name(command), String::from_utf8_lossy(&said).trim_end());
    }
    String::from_utf8(out.stdout).with_context(|| format!("{} wrote something that is not text", name(command)))
}

/// Runs a program. Returns whether it succeeded, and all its output.
pub(crate) fn outcome(command: &mut Command) -> anyhow::Result<(bool, String)> {
    let out = start(command, "")?;
    let said = String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).trim_end().to_owned();
    Ok((out.status.success(), said))
}

/// Python in isolated mode, with its own modules alone. Otherwise a file such as `random.py` in the current folder, or one that
/// the user's variables name, would replace a module of the library, and the result may be kept for all plugins.
pub(crate) fn python(interpreter: &Path) -> Command {
    let mut python = Command::new(interpreter);
    python.arg("-I");
    python
}

/// Starts a program and waits for its end. `missing` says what to do if it is not installed.
fn start(command: &mut Command, missing: &str) -> anyhow::Result<Output> {
    command.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => anyhow::anyhow!("{} is not installed. {missing}", name(command)),
        _ => anyhow::anyhow!("cannot start {}: {error}", name(command)),
    })
}

/// The name of a program, for messages.
pub(crate) fn name(command: &Command) -> String {
    Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_takes_no_modules_of_the_folder_where_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("colorsys.py"), "raise SystemExit('it is not the one of the library')")
            .unwrap();
        for arguments in [&["-c", "import colorsys"][..], &["-m", "colorsys"]] {
            let mut python = python(Path::new("python3"));
            python.args(arguments).current_dir(folder.path()).env("PYTHONPATH", folder.path());
            quiet(&mut python, "").unwrap();
        }
    }
}
