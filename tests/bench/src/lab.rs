//! The environment of one run: programs, generated files, and how to start servers in it.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use nix::unistd::User;
use tempfile::TempDir;
use tokio::process::Command;

use crate::contender::Contender;
use crate::plugins::{self, Set};
use crate::server::{Server, Transport};

/// The file with the answer that the bare server gives to every request.
const CONSTANT: &str = "constant.json";

/// Paths, and the amount of measuring.
pub(crate) struct Lab {
    portcullis: PathBuf,
    native: PathBuf,
    built: PathBuf,
    /// Configurations, copies of plugins and caches; deleted at the end.
    folder: TempDir,
    pub(crate) effort: Effort,
    /// The ordinary user who also runs a server.
    pub(crate) user: Option<String>,
    /// The interpreter that has FastMCP.
    pub(crate) fastmcp: Option<PathBuf>,
}

/// The number of rounds and the size of one round.
#[derive(Clone)]
pub(crate) struct Effort {
    pub(crate) quick: bool,
    pub(crate) rounds: usize,
    /// Requests of one sequential round.
    pub(crate) sequential: usize,
    /// Requests of one round with many in flight.
    pub(crate) crowd: usize,
    /// Chunks in one call.
    pub(crate) chunks: u64,
    /// Numbers of plugins.
    pub(crate) plugins: Vec<usize>,
}

impl Effort {
    /// `plugins` are the numbers of plugins to start with, in place of the usual ones.
    pub(crate) fn new(quick: bool, plugins: Vec<usize>) -> Self {
        let usual: &[usize] = if quick { &[1, 50, 200] } else { &[1, 50, 200, 1_000] };
        let plugins = if plugins.is_empty() { usual.to_vec() } else { plugins };
        if quick {
            Self { quick, rounds: 3, sequential: 500, crowd: 4_000, chunks: 2_000, plugins }
        } else {
            Self { quick, rounds: 7, sequential: 2_000, crowd: 16_000, chunks: 5_000, plugins }
        }
    }
}

impl Lab {
    pub(crate) fn new(
        portcullis: &Path,
        native: &Path,
        built: &Path,
        effort: Effort,
        user: Option<String>,
    ) -> Result<Self> {
        let file = |path: &Path, advice: &str| {
            fs::canonicalize(path).with_context(|| format!("there is no {}; {advice}", path.display()))
        };
        let portcullis = file(portcullis, "`cargo build --release` makes it")?;
        let native = file(native, "`cargo build --release -p bench` makes it")?;
        let built = file(built, "`cargo xtask bench` builds the plugins there")?;
        let bench = built.join("bench.wasm");
        ensure!(bench.is_file(), "there is no {}; `cargo xtask bench` builds it", bench.display());
        let folder = TempDir::with_prefix("portcullis-bench-")?;
        fs::write(folder.path().join("stand-in.json"), plugins::DESCRIBED)?;
        Ok(Self { portcullis, native, built, folder, effort, user, fastmcp: None })
    }

    /// Starts a server with the run's cache of compiled code.
    pub(crate) async fn start(&self, contender: Contender, set: Set, transport: Transport) -> Result<Server> {
        Server::start(self.command(contender, set, transport)?, transport).await
    }

    /// Writes a file that lasts as long as the run.
    pub(crate) fn file(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.folder.path().join(name);
        fs::write(&path, text)?;
        Ok(path)
    }

    /// Sets the answer that the bare server gives to every request.
    pub(crate) fn set_constant(&self, answer: &[u8]) -> Result<()> {
        Ok(fs::write(self.folder.path().join(CONSTANT), answer)?)
    }

    /// The program, and the folder for plugins that are made in the run.
    pub(crate) fn author(&self) -> (&Path, PathBuf) {
        (&self.portcullis, self.folder.path().join(plugins::PROJECTS))
    }

    /// Starts a server once, so that everything it needs has been compiled. Nothing is measured, so this may take long.
    pub(crate) async fn compile(&self, contender: Contender, set: Set) -> Result<()> {
        eprintln!("compiling {set:?} for {contender}, unless that was done");
        let server = self.start(contender, set, Transport::Stdio).await?;
        server.ready().await?;
        server.stop().await
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

    /// Options to start a server over HTTP as another user, from a folder that is open to all users: the programs and
    /// plugins of a developer often are not.
    pub(crate) fn command_as(&self, user: &User, contender: Contender) -> Result<Command> {
        let open = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o755));
        let folder = self.folder.path().join("user");
        fs::create_dir_all(&folder)?;
        open(self.folder.path())?;
        open(&folder)?;
        let copy = |path: &Path| -> Result<PathBuf> {
            let to = folder.join(path.file_name().context("a program has a name")?);
            fs::copy(path, &to)?;
            open(&to)?;
            Ok(to)
        };
        let mut command = if contender.is_ours() {
            copy(&self.built.join("bench.wasm"))?;
            let config = folder.join(format!("{contender:?}.toml"));
            fs::write(&config, plugins::configuration(contender, Set::Bench, &folder, &folder))?;
            let mut command = Command::new(copy(&self.portcullis)?);
            command.arg("serve").arg("--config").arg(config);
            for (variable, name) in [("PORTCULLIS_CACHE", "cache"), ("PORTCULLIS_STATE", "state"), ("HOME", "home")] {
                let own = folder.join(format!("{contender:?}-{name}"));
                fs::create_dir_all(&own)?;
                std::os::unix::fs::chown(&own, Some(user.uid.as_raw()), Some(user.gid.as_raw()))?;
                command.env(variable, own);
            }
            command
        } else {
            Command::new(copy(&self.native)?)
        };
        command.args(["--http", "127.0.0.1:0"]).current_dir(&folder);
        command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        Ok(command)
    }

    fn command_with_cache(
        &self,
        contender: Contender,
        set: Set,
        transport: Transport,
        cache: &Path,
    ) -> Result<Command> {
        let mut command = if !contender.is_ours() {
            let mut command = Command::new(&self.native);
            match contender {
                Contender::Ordinary => drop(command.arg("--ordinary")),
                Contender::Floor => drop(command.arg("--constant").arg(self.folder.path().join(CONSTANT))),
                _ => {}
            }
            command
        } else {
            if let Set::Copies(count) = set {
                plugins::copy_apart(&self.built.join("hello.wasm"), self.folder.path(), count)?;
            }
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
