//! Waiting until a user who agreed to connect an account has done so.

use super::accept::Unanswered;
use super::access::{ASK_AGAIN, Client};
use super::error::ClientError;
use super::question::{CheckedQuestion, ClientAnswer, Consent};
use std::time::Duration;

/// How long to wait before asking again. Clients time out, so a question on the wire must be answered earlier.
const CONNECTING: Duration = Duration::from_secs(45);

impl Client {
    /// For an ordinary page, consent is the answer; for an account page, the connected account is.
    pub(super) async fn settle_url(
        &self,
        asked: &CheckedQuestion,
    ) -> Result<Result<ClientAnswer, Unanswered>, ClientError> {
        if let CheckedQuestion::Url { connect: Some(name), .. } = asked {
            let step = self.journal.begin("connections.wait", &name);
            let connected = step.ask(self.wait_connected(name)).await?;
            if !connected {
                return Ok(Err(Unanswered {
                    reason: format!("the account `{name}` is not connected yet"),
                    show_user: true,
                    as_text: false,
                }));
            }
        }
        Ok(Ok(ClientAnswer::Url(Consent::Accept)))
    }

    /// Waits for a while, and returns whether the account is connected then.
    async fn wait_connected(&self, name: &str) -> Result<bool, ClientError> {
        let timeout = CONNECTING.min(self.answer_timeout() / (ASK_AGAIN as u32 + 1));
        let mut result = Ok(());
        let event = async {
            if let Ok(ended) = tokio::time::timeout(timeout, self.accounts.wait_connected(name)).await {
                result = ended;
            }
        };
        self.calls.wait_outside(Box::pin(event)).await?;
        result?;
        Ok(self.accounts.connected_now(name).await?)
    }
}
