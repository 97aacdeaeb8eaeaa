//! What the commands need besides Rust: asked for at the start, since a missing tool would show itself after minutes only.

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::python;
use crate::repo::Repo;

/// A tool, how it is asked for its version, the least version that works, and Debian's package.
struct Tool {
    name: &'static str,
    command: &'static [&'static str],
    least: (u32, u32),
    debian: &'static str,
}

const NODE: Tool = Tool { name: "Node", command: &["node", "--version"], least: (20, 0), debian: "nodejs npm" };
const NPM: Tool = Tool { name: "npm", command: &["npm", "--version"], least: (9, 0), debian: "npm" };
const GO: Tool = Tool { name: "Go", command: &["go", "version"], least: (1, 25), debian: GO_OF_DEBIAN };
const GO_OF_DEBIAN: &str = "golang-go, older up to Debian 13: https://go.dev/dl";
const GCC: Tool = Tool { name: "gcc", command: &["cc", "-dumpfullversion"], least: (10, 0), debian: "gcc" };
const CC: Tool = Tool { name: "C compiler", command: &["cc", "--version"], least: (0, 1), debian: "gcc" };
const MAKE: Tool = Tool { name: "make", command: &["make", "--version"], least: (3, 80), debian: "make" };
const CLIPPY: Tool = Tool {
    name: "clippy",
    command: &["cargo", "clippy", "--version"],
    least: (0, 1),
    debian: "none: `rustup component add clippy rustfmt`",
};

/// What `cargo xtask demo` needs; says how long it takes.
pub(crate) fn of_demo(repo: &Repo) -> Result<()> {
    missing(&[CC, MAKE])?;
    announce(repo, "6 minutes on two processors, most of it to compile the host", 3);
    Ok(())
}

/// What `cargo xtask test` needs; says how long it takes.
pub(crate) fn of_tests(repo: &Repo) -> Result<()> {
    missing(&[CLIPPY, NODE, NPM, GO, GCC, MAKE])?;
    announce(repo, "22 minutes on two processors, half of it to compile", 9);
    Ok(())
}

/// Says before a first run how long it takes and what it takes of the disk. A full disk would only show itself after minutes, as
/// whatever could not be written.
fn announce(repo: &Repo, time: &str, gigabytes: u64) {
    if repo.binary("debug", "portcullis").exists() {
        return;
    }
    eprintln!(
        "The first run takes about {time}, and {gigabytes} GB below target/. Packages are fetched from their registries."
    );
    let Ok(disk) = rustix::fs::statvfs(&repo.root) else { return };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize) / 1_000_000_000;
    if free < gigabytes {
        eprintln!("warning: {} has {free} GB left", repo.root.display());
    }
}

/// Names all that is missing at once.
fn missing(tools: &[Tool]) -> Result<()> {
    let mut text = String::new();
    if let Err(error) = python::interpreter(python::LEAST) {
        let _ = write!(text, "\n  {error:#}");
    }
    for Tool { name, command, least: (major, minor), debian } in tools {
        let found = version(command);
        if found.is_none_or(|found| found < (*major, *minor)) {
            let found = found.map_or_else(|| "it is not installed".to_owned(), |(a, b)| format!("this one is {a}.{b}"));
            let _ = write!(text, "\n  {name} {major}.{minor} or newer; {found}. Debian's package: {debian}");
        }
    }
    if !text.is_empty() {
        bail!("these tools are missing; nothing was started:{text}");
    }
    Ok(())
}

/// The first two numbers that a command prints.
fn version(command: &[&str]) -> Option<(u32, u32)> {
    let (program, arguments) = command.split_first()?;
    let out = Command::new(program).args(arguments).stderr(Stdio::null()).output().ok()?;
    let said = String::from_utf8_lossy(&out.stdout);
    let mut numbers = said.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok());
    Some((numbers.next()?, numbers.next().unwrap_or(0))).filter(|_| out.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_missing_is_named_at_once() {
        let tool = |name, command, least| Tool { name, command, least, debian: "some" };
        assert!(missing(&[tool("one", &["echo", "v20.1.3"], (20, 0))]).is_ok());
        let old = tool("two", &["echo", "go version go1.22.1"], (1, 25));
        let said = missing(&[old, tool("three", &["no-such-program"], (1, 0))]).map_err(|error| error.to_string());
        let said = said.err().unwrap_or_default();
        assert!(said.contains("two 1.25 or newer; this one is 1.22. Debian's package: some"), "{said}");
        assert!(said.contains("three 1.0 or newer; it is not installed"), "{said}");
    }
}
