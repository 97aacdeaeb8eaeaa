//! Paths in this repository.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command::cargo;

/// Executables have a suffix on some platforms.
const EXE: &str = env::consts::EXE_SUFFIX;

/// The repository's folders. Everything built goes below `target`.
pub(crate) struct Repo {
    /// The folder of the workspace's `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Plugins, guests and toolchains: always `target`, because configuration files name it.
    pub(crate) target: PathBuf,
    /// The target folder of the workspace's own binaries; `CARGO_TARGET_DIR` moves it.
    cargo_target: PathBuf,
    /// Whether its crates are linted while they are built.
    lints: bool,
}

impl Repo {
    pub(crate) fn locate() -> Result<Self> {
        // Read at run time, so that an old binary works in a moved checkout; cargo sets it for `cargo xtask`.
        let here = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
        let root = here.ancestors().nth(2).context("xtask lives two folders below the root")?.to_path_buf();
        let target = root.join("target");
        let cargo_target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| target.clone(), |dir| root.join(dir));
        Ok(Self { root, target, cargo_target, lints: false })
    }

    /// A copy of the repository, which shares the target folder of the workspace's binaries.
    pub(crate) fn copied_to(&self, root: PathBuf) -> Self {
        Self { target: root.join("target"), root, cargo_target: self.cargo_target.clone(), lints: self.lints }
    }

    /// The same, whose builds fail on any lint. A run of clippy beside the build would look at all dependencies once more.
    pub(crate) fn linting(&self) -> Self {
        Self { lints: true, ..self.copied_to(self.root.clone()) }
    }

    /// Whether its crates are linted while they are built.
    pub(crate) fn is_linting(&self) -> bool {
        self.lints
    }

    /// Cargo in the root, for crates that run on this machine.
    pub(crate) fn cargo(&self) -> Command {
        let mut cargo = cargo();
        if self.lints {
            // What `cargo clippy` sets for `-D warnings`; but here its driver, a compiler with lints, also makes the programs.
            cargo.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
            cargo.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
        }
        cargo.current_dir(&self.root);
        cargo
    }

    /// The WIT from which plugins in other languages get their bindings.
    pub(crate) fn wit(&self) -> PathBuf {
        self.root.join("wit/v0.1")
    }

    /// The test clients: scripts, their pinned packages, the demo's configuration.
    pub(crate) fn clients(&self) -> PathBuf {
        self.root.join("tests/clients")
    }

    /// The packages that add reverse calls to third-party clients.
    pub(crate) fn adapters(&self) -> PathBuf {
        self.root.join("guest-sdk/clients")
    }

    /// A binary of the workspace in the given profile's folder.
    pub(crate) fn binary(&self, profile: &str, name: &str) -> PathBuf {
        self.cargo_target.join(profile).join(format!("{name}{EXE}"))
    }

    /// The host's development build. Its compiled code is cached here instead of in the user's cache.
    pub(crate) fn portcullis(&self) -> Command {
        let mut portcullis = Command::new(self.binary("debug", "portcullis"));
        // The suite uses the same cache, so each finds what the other compiled.
        portcullis.env("PORTCULLIS_CACHE", self.target.join("test-cache")).current_dir(&self.root);
        portcullis.env("PORTCULLIS_STATE", self.target.join("test-state"));
        portcullis
    }

    pub(crate) fn plugins(&self) -> PathBuf {
        self.target.join("plugins")
    }

    /// The plugin of the behaviour suite, in each language.
    pub(crate) fn languages(&self) -> PathBuf {
        self.target.join("languages")
    }

    /// The target folder of the workspace, for a second workspace that shares its dependencies.
    pub(crate) fn cargo_target(&self) -> &Path {
        &self.cargo_target
    }

    /// The interpreter that has the Python client.
    pub(crate) fn python(&self) -> PathBuf {
        self.target.join("venv/bin/python")
    }

    /// The folder that has the TypeScript client and `componentize-qjs`.
    pub(crate) fn node_modules(&self) -> PathBuf {
        self.target.join("node/node_modules")
    }

    /// The folder with the agents that are installed.
    pub(crate) fn agents(&self) -> PathBuf {
        self.target.join("agents")
    }

    /// The folder with the client libraries that are installed.
    pub(crate) fn libraries(&self) -> PathBuf {
        self.target.join("libraries")
    }

    /// A path relative to the root, for messages.
    pub(crate) fn show(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}
