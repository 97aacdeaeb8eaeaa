//! The tests of the SDKs for C and Go, on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command::{check, output, quiet};
use crate::repo::Repo;

/// Compiles the tests of the SDK for C with the checks of memory that the machine's compiler has, and runs them.
pub(crate) fn c(repo: &Repo) -> Result<()> {
    let sdk = repo.root.join("guest-sdk/c");
    let program = repo.target.join("c-tests");
    let mut cc = Command::new("cc");
    // In tables, what is not named is not there.
    cc.args(["-std=c17", "-g", "-O1", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror"]);
    cc.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I"]).arg(sdk.join("include"));
    cc.arg("-o").arg(&program);
    for folder in ["src/data", "src/shared", "src/test", "tests"] {
        cc.args(sources(&sdk.join(folder))?);
    }
    cc.arg("-lm");
    quiet(&mut cc)
        .context("the tests of guest-sdk/c need a C compiler with sanitizers. On Debian: `apt-get install gcc`")?;
    // The arena is never freed, on purpose.
    check(Command::new(&program).env("ASAN_OPTIONS", "detect_leaks=0")).context("guest-sdk/c has failing tests")
}

/// Checks the SDK for Go, and runs its tests.
pub(crate) fn go(repo: &Repo) -> Result<()> {
    let unformatted =
        output(Command::new("gofmt").args(["-l", "guest-sdk/go", "tests/languages/go"]).current_dir(&repo.root))
            .context("the tests of guest-sdk/go need Go 1.25 or newer: https://go.dev/dl")?;
    let ours = unformatted.lines().filter(|path| !path.contains(".portcullis")).collect::<Vec<_>>();
    if !ours.is_empty() {
        bail!("some files are not formatted; `gofmt -w` mends them: {}", ours.join(" "));
    }
    for task in ["vet", "test"] {
        let mut go = Command::new("go");
        go.args([task, "./..."]).current_dir(repo.root.join("guest-sdk/go"));
        // Go as it is installed: nothing is fetched.
        go.env("GOTOOLCHAIN", "local").env("GOPROXY", "off").env("GOWORK", "off").env("CGO_ENABLED", "0");
        check(&mut go).context("guest-sdk/go has failing tests")?;
    }
    Ok(())
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        found.push(entry?.path());
    }
    found.retain(|path| path.extension().is_some_and(|end| end == "c"));
    found.sort();
    Ok(found)
}
