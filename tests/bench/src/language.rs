//! A plugin in each language, made and changed as an author does it: `portcullis new`, `build`, a change, `build`.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

/// The name of the plugin.
pub(crate) const NAME: &str = "bench";

/// What the template says, and what it says after the change.
const BEFORE: &str = "Hello, ";
const AFTER: &str = "Welcome, ";

/// What the changed plugin says to a visitor with a number.
pub(crate) const GREETING: &str = "Welcome, no. ";

/// The language that a plugin is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    Rust,
    C,
    Go,
    /// A plugin in TypeScript differs in nothing once it is built.
    JavaScript,
    Python,
}

impl Language {
    /// The first is what the others are compared with.
    pub(crate) const ALL: [Self; 5] = [Self::Rust, Self::C, Self::Go, Self::JavaScript, Self::Python];

    /// As `--lang` takes it.
    fn option(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::C => "c",
            Self::Go => "go",
            Self::JavaScript => "javascript",
            Self::Python => "python",
        }
    }

    fn source(self) -> &'static str {
        match self {
            Self::Rust => "src/lib.rs",
            Self::C => "plugin.c",
            Self::Go => "plugin.go",
            Self::JavaScript => "plugin.js",
            Self::Python => "bench.py",
        }
    }

    /// The plugin's folder below this one.
    fn folder(self, projects: &Path) -> PathBuf {
        projects.join(self.option()).join(NAME)
    }

    pub(crate) fn component(self, projects: &Path) -> PathBuf {
        self.folder(projects).join(format!("{NAME}.wasm"))
    }

    /// Makes the plugin, builds it, changes it, and builds it again; the answer is how long that took.
    pub(crate) async fn build_again(self, portcullis: &Path, projects: &Path) -> Result<Duration> {
        let above = projects.join(self.option());
        fs::create_dir_all(&above)?;
        run(portcullis, &["new", NAME, "--lang", self.option()], &above).await?;
        let folder = self.folder(projects);
        run(portcullis, &["build"], &folder).await?;
        let source = folder.join(self.source());
        let text = fs::read_to_string(&source).with_context(|| format!("cannot read {}", source.display()))?;
        ensure!(text.contains(BEFORE), "{} does not say `{BEFORE}`", source.display());
        fs::write(&source, text.replace(BEFORE, AFTER))?;
        let begin = Instant::now();
        run(portcullis, &["build"], &folder).await?;
        Ok(begin.elapsed())
    }
}

impl fmt::Display for Language {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

/// The output of a command that succeeds.
pub(crate) async fn run(portcullis: &Path, arguments: &[&str], folder: &Path) -> Result<Vec<u8>> {
    let mut command = Command::new(portcullis);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    let ran = command.output().await.with_context(|| format!("cannot start {}", portcullis.display()))?;
    let said = String::from_utf8_lossy(&ran.stderr);
    ensure!(ran.status.success(), "`portcullis {}` failed: {}", arguments.join(" "), said.trim());
    Ok(ran.stdout)
}
