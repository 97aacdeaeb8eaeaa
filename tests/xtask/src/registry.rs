//! Debian's container registry: an independent implementation that the suite pushes to and pulls from.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::command::step;
use crate::repo::Repo;

/// The name of the package and of its program.
const NAME: &str = "docker-registry";

/// Unpacks the package below `target` where the program is not installed, which takes no administrator. Without it only
/// one test is left out, and that test says so.
pub(crate) fn debian(repo: &Repo) {
    let found = |program: PathBuf| {
        let asked = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
    };
    if found(program(repo)) {
        return;
    }
    let folder = repo.target.join(NAME);
    let unpacked = step(&format!("unpacking Debian's {NAME}"), || {
        let run = |program: &str, arguments: &[&str]| -> anyhow::Result<()> {
            crate::command::quiet(Command::new(program).args(arguments).current_dir(&folder))
        };
        fs::create_dir_all(&folder)?;
        run("apt-get", &["download", "--quiet", NAME])?;
        run("sh", &["-c", "dpkg-deb --extract docker-registry_*.deb ."])
    });
    if let Err(error) = unpacked {
        eprintln!("  {NAME} is not there ({error:#}). On Debian: `apt-get update`, or `apt-get install {NAME}`");
    }
}

/// The program: unpacked here, or of the system.
pub(crate) fn program(repo: &Repo) -> PathBuf {
    let unpacked = repo.target.join(NAME).join("usr/bin").join(NAME);
    if unpacked.exists() { unpacked } else { NAME.into() }
}
