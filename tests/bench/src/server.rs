//! A server process: starting it, connecting to it, stopping it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::client::{Client, HttpClient, StdioClient};

/// Lines of a server's log that an error message quotes.
const QUOTED_LINES: usize = 8;

/// The transport to a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

impl Transport {
    pub(crate) const ALL: [Self; 2] = [Self::Stdio, Self::Http];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "HTTP",
        }
    }
}

/// A running server; killed when dropped.
pub(crate) struct Server {
    child: Child,
    /// Set over HTTP, once the server listens.
    address: Option<SocketAddr>,
    log: Log,
}

/// The end of what a server wrote to stderr.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<VecDeque<String>>>);

impl Server {
    /// Starts the process; over HTTP, waits until it listens.
    pub(crate) async fn start(mut command: Command, transport: Transport) -> Result<Self> {
        let pipe = || {
            if transport == Transport::Stdio { Stdio::piped() } else { Stdio::null() }
        };
        command.stdin(pipe()).stdout(pipe()).stderr(Stdio::piped()).kill_on_drop(true);
        let program = command.as_std().get_program().to_owned();
        let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let log = Log::default();
        let (found, address) = oneshot::channel();
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(log.clone().follow(stderr, found));
        }
        let mut server = Self { child, address: None, log };
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
        let input = self.child.stdin.take().context("the server's stdin is taken")?;
        let output = self.child.stdout.take().context("the server's stdout is taken")?;
        Ok(Client::Stdio(StdioClient::new(input, output)))
    }

    /// One more HTTP connection.
    pub(crate) async fn connect_http(&self) -> Result<HttpClient> {
        HttpClient::connect(self.address.context("the server does not speak HTTP")?).await
    }

    pub(crate) fn pid(&self) -> Result<u32> {
        self.child.id().with_context(|| format!("the server has ended{}", self.log.quote()))
    }

    /// Kills the process and waits until it has exited, so that it does not disturb the next measurement.
    pub(crate) async fn stop(mut self) -> Result<()> {
        self.child.kill().await.context("cannot stop the server")
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
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push_back(line);
            if kept.len() > QUOTED_LINES {
                kept.pop_front();
            }
        }
    }

    fn quote(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_empty() {
            return String::new();
        }
        let lines: Vec<&str> = kept.iter().map(String::as_str).collect();
        format!("; its log ends with:\n    {}", lines.join("\n    "))
    }
}

fn listening_address(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("listening on http://")?;
    rest.split_once("/mcp")?.0.parse().ok()
}
