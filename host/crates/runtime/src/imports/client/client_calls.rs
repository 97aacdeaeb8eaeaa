//! How questions reach the other side of a call.

use super::error::ClientError;
use super::model::{ModelAnswer, ModelError};
use super::question::{Abilities, CheckedQuestion, ClientReply, SampleRequest};
use async_trait::async_trait;
use futures::future::BoxFuture;
use policy::PluginId;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Whose words a question is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// The words of a plugin or a server, about which the host knows no more than its name.
    Plugin,
    /// The words of the host, about a call of a plugin.
    Host,
}

impl Author {
    /// The text before a question. It lets a person know who asks: many clients show nothing else about where a question comes
    /// from.
    pub fn prefix(self, plugin: &str) -> String {
        match self {
            Self::Plugin => format!("{plugin} asks: "),
            Self::Host => String::new(),
        }
    }
}

/// Checked questions that are asked together.
pub struct QuestionBatch {
    pub plugin: PluginId,
    pub author: Author,
    /// Keys are unique.
    pub questions: Vec<(String, CheckedQuestion)>,
    pub timeout: Duration,
    /// The step of a journaled call that asks them: the same in every run.
    pub step: Option<String>,
}

/// Asks the other side of a call; implemented by the transport or surface that the call came through.
#[async_trait]
pub trait ClientCalls: Send + Sync {
    /// What the client supports now; it may change while a call waits.
    fn abilities(&self) -> Abilities;
    /// Returns the replies in the order of the questions.
    async fn ask(&self, inquiry: QuestionBatch) -> Result<Vec<ClientReply>, ClientError>;
    /// Waits for something that the user does elsewhere; `event` includes its own timeout.
    async fn wait_outside(&self, event: BoxFuture<'_, ()>) -> Result<(), ClientError> {
        event.await;
        Ok(())
    }
    /// Whether the host has a model configured.
    fn has_model(&self) -> bool {
        false
    }
    /// Asks the host's model; returns one result per request, in their order.
    async fn ask_model(
        &self,
        _requests: &[SampleRequest],
        _timeout: Duration,
    ) -> Result<Vec<Result<ModelAnswer, ModelError>>, ClientError> {
        Err(ClientError::NotOffered("a model of the host's own".into()))
    }
}

/// For a call that has nobody to ask.
#[derive(Debug, Clone, Copy)]
pub struct NoClient;

impl NoClient {
    /// One for all calls.
    pub fn shared() -> Arc<dyn ClientCalls> {
        static SHARED: LazyLock<Arc<NoClient>> = LazyLock::new(|| Arc::new(NoClient));
        SHARED.clone()
    }
}

#[async_trait]
impl ClientCalls for NoClient {
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    async fn ask(&self, _inquiry: QuestionBatch) -> Result<Vec<ClientReply>, ClientError> {
        Err(ClientError::Failed("there is no client to ask".into()))
    }
}
