//! Connecting an account is more than opening a page: the answer is yes when it is done.

use super::super::ConnectionError;
use super::accept::Unanswered;
use super::{ASK_AGAIN, Answer, Asked, Client, ClientError, Decision};
use std::time::Duration;

/// Who agreed to connect an account is waited for so long, and then asked again: what is asked for over the wire must be
/// answered before clients lose their patience.
const CONNECTING: Duration = Duration::from_secs(45);

impl Client {
    /// A user who agreed to open a page is done with that; one who agreed to connect an account, when it is connected.
    pub(super) async fn settled(&self, asked: &Asked) -> Result<Result<Answer, Unanswered>, ClientError> {
        if let Asked::Url { connect: Some(name), .. } = asked {
            let patience = CONNECTING.min(self.limits.patience / (ASK_AGAIN as u32 + 1));
            let mut result = Ok(());
            let event = async {
                if let Ok(ended) = tokio::time::timeout(patience, self.accounts.wait_connected(name)).await {
                    result = ended;
                }
            };
            self.calls.stand_by(Box::pin(event)).await?;
            result?;
            if !self.accounts.connected(name).await? {
                return Ok(Err(Unanswered {
                    reason: format!("the account `{name}` is not connected yet"),
                    tell: true,
                }));
            }
        }
        Ok(Ok(Answer::Url(Decision::Accept)))
    }
}

impl From<ConnectionError> for ClientError {
    fn from(error: ConnectionError) -> Self {
        match error {
            ConnectionError::Denied(denial) => ClientError::Denied(denial),
            ConnectionError::NotConnected => ClientError::NotAnswered("the account is not connected".into()),
            ConnectionError::Invalid(reason) => ClientError::Invalid(reason),
            ConnectionError::Exhausted(exhaustion) => ClientError::Exhausted(exhaustion),
            ConnectionError::Timeout(ms) => ClientError::Timeout(ms),
            ConnectionError::Failed(reason) => ClientError::Failed(reason),
        }
    }
}
