//! The load client: as little overhead as possible between the clock and a server, with every answer checked.

mod agent;
mod http;
mod message;
mod sse;
mod stdio;
mod visit;

pub(crate) use agent::{Agent, Lane};
pub(crate) use http::{HttpClient, crowd};
pub(crate) use message::{Answer, Template, Tool};
pub(crate) use stdio::StdioClient;
pub(crate) use visit::visit;

use anyhow::Result;

/// One connection to a server.
pub(crate) enum Client {
    Stdio(StdioClient),
    Http(HttpClient),
}

impl Client {
    /// Sends the request and waits for its answer; `on_notification` receives what arrives before.
    pub(crate) async fn exchange(
        &mut self,
        template: &Template,
        on_notification: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<Answer> {
        self.exchange_slowly(template, usize::MAX, async || Ok(()), on_notification).await
    }

    /// The same, but pauses after every `piece` bytes.
    pub(crate) async fn exchange_slowly(
        &mut self,
        template: &Template,
        piece: usize,
        pause: impl AsyncFnMut() -> Result<()>,
        on_notification: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<Answer> {
        match self {
            Self::Stdio(client) => client.exchange_slowly(template, piece, pause, on_notification).await,
            Self::Http(client) => client.exchange_slowly(template, piece, pause, on_notification).await,
        }
    }

    /// Sends a request for which only an answer is expected, and no notification.
    pub(crate) async fn ask(&mut self, template: &Template) -> Result<Answer> {
        self.exchange(template, |message| {
            anyhow::bail!("an unexpected message came before the answer: {}", String::from_utf8_lossy(message))
        })
        .await
    }
}
