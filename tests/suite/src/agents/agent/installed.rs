//! The programs of agents, as `cargo xtask clients --agents` has installed them.

use crate::paths;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder with them.
pub(super) struct Installed {
    folder: PathBuf,
}

impl Installed {
    /// `None` if it is not set up.
    pub(super) fn find() -> Option<Self> {
        Some(Self { folder: paths::agents()? })
    }

    /// A program in a package of npm.
    pub(super) fn program(&self, package: &str, path: &str) -> Option<Command> {
        self.packaged(package, path).map(Command::new)
    }

    /// A program in that package of npm which is for this machine, such as `name-linux-x64`.
    pub(super) fn native(&self, package: &str, path: &str) -> Option<Command> {
        self.program(&format!("{package}-linux-{}", architecture()), path)
    }

    /// A script in a package of npm, run by the machine's Node.
    pub(super) fn script(&self, package: &str, path: &str) -> Option<Command> {
        let mut node = Command::new("node");
        node.arg(self.packaged(package, path)?);
        Some(node)
    }

    /// A script in a package of npm that needs a newer Node, which is installed beside it.
    pub(super) fn newer_script(&self, package: &str, path: &str) -> Option<Command> {
        let mut node = self.native("node", "bin/node")?;
        node.arg(self.packaged(package, path)?);
        Some(node)
    }

    /// A program in an environment of Python.
    pub(super) fn python(&self, environment: &str, program: &str) -> Option<Command> {
        existing(self.folder.join("python").join(environment).join("bin").join(program)).map(Command::new)
    }

    fn packaged(&self, package: &str, path: &str) -> Option<PathBuf> {
        existing(self.folder.join("node_modules").join(Path::new(package)).join(path))
    }
}

fn existing(path: PathBuf) -> Option<PathBuf> {
    path.exists().then_some(path)
}

/// As npm packages name it.
fn architecture() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" }
}
