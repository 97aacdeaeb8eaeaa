//! Claims a key: the first request to do so runs the call, and all others wait for it or get its response.

use super::call_key::CallKey;
use super::claimed::ClaimedKey;
use super::keys::IdempotencyKeys;
use super::record::{KeyRecord, KeyState};
use super::running::{Entered, KeyInUse};
use super::table::CountedRecord;
use platform::durable::{Durability, DurableError, Expected, Key, Record, Revision};
use platform::random::random_id;
use rmcp::model::JsonObject;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Pauses between two checks of a call that another process runs.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What a request with a key has to do.
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub(crate) enum Claim {
    /// It runs or resumes the call.
    Run(ClaimedKey),
    /// The call waits for answers.
    Parked {
        token: String,
        result: JsonObject,
    },
    /// The call is this task.
    Task(String),
    Done(JsonObject),
    /// The call ended with an error of the protocol.
    Failed(JsonObject),
    /// The process of the call is gone. If the task exists, the call goes on as that task. If it does not, `untouched` is set
    /// if the call had done nothing.
    Lost {
        task: String,
        untouched: Option<UntouchedKey>,
    },
}

/// The key of a call that had not done anything outside of its instance when its process ended.
#[derive(Debug)]
pub(crate) struct UntouchedKey {
    key: Key,
    revision: Revision,
}

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoClaim {
    #[error("the idempotency key was used for another call: another tool, or other arguments")]
    Other,
    #[error("all keys are in use by calls that run")]
    Full,
    #[error("too many requests wait for the call of this key")]
    TooManyWait,
    /// The request was cancelled while it waited.
    #[error("cancelled")]
    Gone,
    #[error("{0}")]
    Store(#[from] DurableError),
    #[error("there are no random bytes: {0}")]
    Random(#[from] io::Error),
}

/// The result of one attempt to claim a key.
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once")]
enum ClaimAttempt {
    Claimed(Claim),
    /// Another process runs the call.
    Elsewhere,
    /// Another process has changed the key first.
    Changed,
}

impl IdempotencyKeys {
    /// Claims the key of a call, or finds out how the call ended. Waits while another request runs it. `resumes` is the token
    /// of a parked call that the request resumes; `gone` is cancelled when nobody wants the response any more.
    pub(crate) async fn claim(
        self: &Arc<Self>,
        key: &CallKey,
        resumes: Option<&str>,
        gone: &CancellationToken,
    ) -> Result<Claim, NoClaim> {
        // The key may have been used, if the store is damaged or its folder is gone.
        if let Some(problem) = self.store.problem().filter(|problem| !matches!(problem, DurableError::Full(_))) {
            return Err(problem.into());
        }
        let mut pause = FIRST_PAUSE;
        loop {
            let in_use = match self.running.enter(&key.record) {
                Entered::Alone(in_use) => in_use,
                Entered::TooMany => return Err(NoClaim::TooManyWait),
                Entered::Behind(over) => {
                    let waited = gone.run_until_cancelled(over.cancelled()).await;
                    self.running.leave(&key.record, &over);
                    waited.ok_or(NoClaim::Gone)?;
                    continue;
                }
            };
            match self.look(key, resumes, in_use).await? {
                ClaimAttempt::Claimed(claim) => return Ok(claim),
                ClaimAttempt::Changed => {}
                ClaimAttempt::Elsewhere => {
                    gone.run_until_cancelled(tokio::time::sleep(pause)).await.ok_or(NoClaim::Gone)?;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    async fn look(
        self: &Arc<Self>,
        key: &CallKey,
        resumes: Option<&str>,
        in_use: KeyInUse,
    ) -> Result<ClaimAttempt, NoClaim> {
        let Some(found) = self.store.get(&key.record).await? else {
            return self.begin(key, Expected::Nothing, in_use).await;
        };
        let Some(record) = self.read(&found.value) else {
            let text = format!("{} was written by another version of this program", key.record);
            return Err(DurableError::Failed(text).into());
        };
        let Record { revision, .. } = found;
        let is_running = match &record.state {
            KeyState::Running { owner, .. } => self.process.may_run(&*self.store, owner).await?,
            _ => false,
        };
        if record.expires <= self.now() && !is_running {
            return self.begin(key, Expected::At(revision), in_use).await;
        }
        if record.call != key.call {
            return Err(NoClaim::Other);
        }
        Ok(ClaimAttempt::Claimed(match &record.state {
            KeyState::Running { .. } if is_running => return Ok(ClaimAttempt::Elsewhere),
            KeyState::Running { has_begun, .. } => {
                let untouched = (!has_begun).then(|| UntouchedKey { key: key.record.clone(), revision });
                Claim::Lost { task: record.task, untouched }
            }
            KeyState::Parked { token, .. } if resumes == Some(token) => {
                return self.run(key, record.clone(), Expected::At(revision), Some(record), in_use).await;
            }
            KeyState::Parked { token, result } => Claim::Parked { token: token.clone(), result: result.clone() },
            KeyState::Task => Claim::Task(record.task),
            KeyState::Done { result } => Claim::Done(result.clone()),
            KeyState::Failed { error } => Claim::Failed(error.clone()),
        }))
    }

    /// Frees the key of a call that has done nothing and will do nothing any more: the next request that claims it runs the
    /// call.
    pub(crate) async fn set_free(&self, untouched: UntouchedKey) -> Result<(), DurableError> {
        let UntouchedKey { key, revision } = untouched;
        match self.store.remove(&key, Expected::At(revision), Durability::Process).await {
            // On a conflict, another process was first.
            Ok(()) | Err(DurableError::Conflict(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Begins the first call of a key.
    async fn begin(
        self: &Arc<Self>,
        key: &CallKey,
        expected: Expected,
        in_use: KeyInUse,
    ) -> Result<ClaimAttempt, NoClaim> {
        let principal = key.principal.as_str().to_owned();
        let owner = self.process.owner.clone();
        let record = KeyRecord::new(principal, key.call.clone(), random_id()?, self.expiry(), owner);
        self.run(key, record, expected, None, in_use).await
    }

    /// Stores that this process runs the call. `before` is the earlier record, if the call was parked.
    async fn run(
        self: &Arc<Self>,
        key: &CallKey,
        record: KeyRecord,
        expected: Expected,
        before: Option<KeyRecord>,
        in_use: KeyInUse,
    ) -> Result<ClaimAttempt, NoClaim> {
        // A call that was parked may have done something already.
        let state = KeyState::Running { owner: self.process.owner.clone(), has_begun: before.is_some() };
        let record = KeyRecord { expires: self.expiry(), time: Some(self.moment()), state, ..record };
        let value = record.to_bytes();
        let Some(gone) = self.table.lock().put(&key.record, CountedRecord::new(&record, value.len()), &self.limits)
        else {
            return Err(NoClaim::Full);
        };
        self.forget(gone);
        // The lease is requested first, so that no process finds the record of an owner that seems to be gone.
        let held = self.process.hold(&*self.store);
        let stored = self.store.put(&key.record, value, expected, Durability::Power);
        let (held, stored) = futures::join!(held, stored);
        self.wake.notify_one();
        let claimed = match stored {
            Ok(revision) => ClaimedKey::new(self.clone(), key.record.clone(), record, revision, before, in_use),
            Err(DurableError::Conflict(_)) => return Ok(ClaimAttempt::Changed),
            Err(error) => {
                self.table.lock().remove(&key.record);
                return Err(error.into());
            }
        };
        if let Err(error) = held {
            claimed.not_started().await;
            return Err(error.into());
        }
        Ok(ClaimAttempt::Claimed(Claim::Run(claimed)))
    }
}
