//! A server process: starting it, connecting to it, stopping it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use crate::client::{Client, HttpClient, StdioClient};
use crate::procfs;

/// Lines of a server's log that an error message quotes.
const QUOTED_LINES: usize = 8;

/// The transport to a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transport {
    /// stdin and stdout are pipes, as most clients make them.
    Stdio,
    /// stdin and stdout are socket pairs, as Node makes them.
    Sockets,
    Http,
}

impl Transport {
    pub(crate) const ALL: [Self; 3] = [Self::Stdio, Self::Sockets, Self::Http];
    pub(crate) const USUAL: [Self; 2] = [Self::Stdio, Self::Http];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Sockets => "stdio, socket pairs",
            Self::Http => "HTTP",
        }
    }
}

/// A running server; killed when dropped.
pub(crate) struct Server {
    child: Child,
    /// Our ends of its stdin and stdout, if those are sockets.
    sockets: Option<[UnixStream; 2]>,
    /// Set over HTTP, once the server listens.
    address: Option<SocketAddr>,
    log: Log,
}

/// Enough to compile 1,000 plugins.
const LOADED_WITHIN: Duration = Duration::from_secs(1_200);
/// What Portcullis says once it has loaded all plugins that it can load.
const READY: &str = "serve: ready";

/// The end of what a server wrote to stderr.
#[derive(Clone, Default)]
struct Log {
    end: Arc<Mutex<VecDeque<String>>>,
    ready: Arc<Notify>,
}

impl Server {
    /// Starts the process; over HTTP, waits until it listens.
    pub(crate) async fn start(mut command: Command, transport: Transport) -> Result<Self> {
        let mut sockets = None;
        match transport {
            Transport::Stdio => command.stdin(Stdio::piped()).stdout(Stdio::piped()),
            Transport::Http => command.stdin(Stdio::null()).stdout(Stdio::null()),
            Transport::Sockets => {
                let ([to, stdin], [from, stdout]) = (pair()?, pair()?);
                sockets = Some([ours(to)?, ours(from)?]);
                command.stdin(OwnedFd::from(stdin)).stdout(OwnedFd::from(stdout))
            }
        };
        // Whoever looks for errors with it would make the server slower.
        command.env_remove("RUST_BACKTRACE").stderr(Stdio::piped()).kill_on_drop(true);
        let program = command.as_std().get_program().to_owned();
        let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let log = Log::default();
        let (found, address) = oneshot::channel();
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(log.clone().follow(stderr, found));
        }
        let mut server = Self { child, sockets, address: None, log };
        if transport == Transport::Http {
            match timeout(Duration::from_secs(60), address).await {
                Ok(Ok(address)) => server.address = Some(address),
                _ => bail!("{} does not say where it listens{}", program.display(), server.log.quote()),
            }
        }
        Ok(server)
    }

    /// A client of this server. Over stdio there is only one.
    pub(crate) async fn connect(&mut self) -> Result<Client> {
        if self.address.is_some() {
            return Ok(Client::Http(self.connect_http().await?));
        }
        if let Some([to, from]) = self.sockets.take() {
            return Ok(Client::Stdio(StdioClient::new(to, from)));
        }
        let input = self.child.stdin.take().context("the server's stdin is taken")?;
        let output = self.child.stdout.take().context("the server's stdout is taken")?;
        Ok(Client::Stdio(StdioClient::new(input, output)))
    }

    /// One more HTTP connection.
    pub(crate) async fn connect_http(&self) -> Result<HttpClient> {
        HttpClient::connect(self.address()?).await
    }

    /// CPU time of the process so far.
    pub(crate) fn cpu_time(&self) -> Result<Duration> {
        procfs::cpu_time(self.pid()?)
    }

    /// Where the server listens.
    pub(crate) fn address(&self) -> Result<SocketAddr> {
        self.address.context("the server does not speak HTTP")
    }

    /// The process that serves. Over stdio, the one that was started may be its supervisor.
    pub(crate) fn pid(&self) -> Result<u32> {
        let started = self.child.id().with_context(|| format!("the server has ended{}", self.log.quote()))?;
        Ok(procfs::child(started).unwrap_or(started))
    }

    /// Kills the process and waits until it has exited, so that it does not disturb the next measurement.
    pub(crate) async fn stop(mut self) -> Result<()> {
        self.child.kill().await.context("cannot stop the server")
    }

    /// Waits until Portcullis has loaded its plugins: it answers clients before that.
    pub(crate) async fn ready(&self) -> Result<()> {
        let ready = timeout(LOADED_WITHIN, self.log.ready.notified()).await;
        ready.map_err(|_| self.explain(&anyhow::anyhow!("the plugins are not loaded in time")))
    }

    /// Adds the end of the server's log to an error.
    pub(crate) fn explain(&self, error: &anyhow::Error) -> anyhow::Error {
        anyhow::anyhow!("{error:#}{}", self.log.quote())
    }
}

impl Log {
    /// Reads until the end: a server whose stderr is not read would block at a full pipe.
    async fn follow(self, stderr: ChildStderr, found: oneshot::Sender<SocketAddr>) {
        let mut found = Some(found);
        let mut lines = BufReader::new(stderr).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if let Some(address) = listening_address(&line)
                && let Some(found) = found.take()
            {
                // The receiver is gone when the start was abandoned.
                let _ = found.send(address);
            }
            if line.contains(READY) {
                self.ready.notify_one();
            }
            let mut kept = self.end.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push_back(line);
            if kept.len() > QUOTED_LINES {
                kept.pop_front();
            }
        }
    }

    fn quote(&self) -> String {
        let kept = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_empty() {
            return String::new();
        }
        let lines: Vec<&str> = kept.iter().map(String::as_str).collect();
        format!("; its log ends with:\n    {}", lines.join("\n    "))
    }
}

/// A socket pair, which blocks as a new process expects it.
fn pair() -> Result<[std::os::unix::net::UnixStream; 2]> {
    let (one, other) = std::os::unix::net::UnixStream::pair().context("cannot make a socket pair")?;
    Ok([one, other])
}

fn ours(socket: std::os::unix::net::UnixStream) -> Result<UnixStream> {
    socket.set_nonblocking(true)?;
    Ok(UnixStream::from_std(socket)?)
}

fn listening_address(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("listening on http://")?;
    rest.split_once("/mcp")?.0.parse().ok()
}
