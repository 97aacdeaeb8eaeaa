//! The environment of one run: programs, generated files, and how to start servers in it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use tokio::process::Command;

use crate::contender::Contender;
use crate::plugins::{self, Set};
use crate::server::{Server, Transport};

/// Paths, and the amount of measuring.
pub(crate) struct Lab {
    portcullis: PathBuf,
    native: PathBuf,
    built: PathBuf,
    /// Configurations, copies of plugins and caches; deleted at the end.
    folder: TempDir,
    pub(crate) effort: Effort,
}

/// The number of rounds and the size of one round.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) rounds: usize,
    /// Requests of one sequential round.
    pub(crate) sequential: usize,
    /// Requests of one round with many in flight.
    pub(crate) crowd: usize,
    /// Chunks in one call.
    pub(crate) chunks: u64,
}

impl Lab {
    pub(crate) fn new(portcullis: PathBuf, native: PathBuf, built: PathBuf, quick: bool) -> Result<Self> {
        let file = |path: PathBuf, advice: &str| {
            fs::canonicalize(&path).with_context(|| format!("there is no {}; {advice}", path.display()))
        };
        let portcullis = file(portcullis, "`cargo build --release` makes it")?;
        let native = file(native, "`cargo build --release -p bench` makes it")?;
        let built = file(built, "`cargo xtask bench` builds the plugins there")?;
        let bench = built.join("bench.wasm");
        ensure!(bench.is_file(), "there is no {}; `cargo xtask bench` builds it", bench.display());
        let folder = TempDir::with_prefix("portcullis-bench-")?;
        fs::write(folder.path().join("stand-in.json"), plugins::DESCRIBED)?;
        plugins::copy_apart(&built.join("hello.wasm"), folder.path())?;
        let effort = if quick {
            Effort { rounds: 3, sequential: 500, crowd: 4_000, chunks: 2_000 }
        } else {
            Effort { rounds: 7, sequential: 2_000, crowd: 16_000, chunks: 5_000 }
        };
        Ok(Self { portcullis, native, built, folder, effort })
    }

    /// Starts a server with the run's cache of compiled code.
    pub(crate) async fn start(&self, contender: Contender, set: Set, transport: Transport) -> Result<Server> {
        Server::start(self.command(contender, set, transport)?, transport).await
    }

    /// Options to start a server with the run's cache of compiled code.
    pub(crate) fn command(&self, contender: Contender, set: Set, transport: Transport) -> Result<Command> {
        self.command_with_cache(contender, set, transport, &self.folder.path().join("cache"))
    }

    /// Options to start a server with an empty cache of compiled code.
    pub(crate) fn cold_command(&self, contender: Contender, set: Set, transport: Transport) -> Result<Command> {
        let cache = self.folder.path().join("cold");
        match fs::remove_dir_all(&cache) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        self.command_with_cache(contender, set, transport, &cache)
    }

    fn command_with_cache(
        &self,
        contender: Contender,
        set: Set,
        transport: Transport,
        cache: &Path,
    ) -> Result<Command> {
        let mut command = if contender == Contender::Native {
            Command::new(&self.native)
        } else {
            // One file per server: a server that watches its configuration must not see another's.
            let config = self.folder.path().join(format!("{contender:?}-{set:?}.toml"));
            fs::write(&config, plugins::configuration(contender, set, &self.built, self.folder.path()))?;
            fs::create_dir_all(cache)?;
            let mut command = Command::new(&self.portcullis);
            command.arg("serve").arg("--config").arg(config).env("PORTCULLIS_CACHE", cache);
            // One folder per server here as well: only one server at a time may use it.
            let state = format!("state-{contender:?}-{set:?}-{transport:?}");
            command.env("PORTCULLIS_STATE", self.folder.path().join(state));
            command
        };
        if transport == Transport::Http {
            command.args(["--http", "127.0.0.1:0"]);
        }
        Ok(command)
    }
}
