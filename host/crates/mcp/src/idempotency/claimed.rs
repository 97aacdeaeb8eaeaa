//! The key of a call that runs here, held until the end of the call is stored.

use super::keys::{IdempotencyKeys, millis};
use super::record::{KeyRecord, KeyState};
use super::results::not_kept;
use super::running::KeyInUse;
use super::table::CountedRecord;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use platform::durable::{Durability, DurableError, Expected, Key, Revision, StoreAnswer};
use rmcp::model::JsonObject;
use runtime::journal::EffectGuard;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Pauses before storing the end of a call is tried again. Its client waits meanwhile.
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(100), Duration::from_millis(500)];

type Noted = Shared<BoxFuture<'static, Result<Revision, DurableError>>>;

/// Stores that the call of a key has begun to do something. Fails if the key does not belong to this call any more.
async fn note_effect(
    keys: Arc<IdempotencyKeys>,
    key: Key,
    record: KeyRecord,
    revision: Revision,
) -> Result<Revision, DurableError> {
    let KeyState::Running { owner, .. } = record.state else { return Ok(revision) };
    let changed = KeyRecord { state: KeyState::Running { owner, has_begun: true }, ..record };
    match keys.store.put(&key, changed.to_bytes(), Expected::At(revision), Durability::Power).await {
        // Either the call was parked or has become a task, and its effects are known there; or another process has begun it
        // anew, because this process seemed to have ended.
        Err(DurableError::Conflict(_)) => {
            let found = keys.store.get(&key).await?;
            let is_same = |found: &KeyRecord| found.task == changed.task;
            match found.and_then(|found| Some((keys.read(&found.value).filter(is_same)?, found.revision))) {
                Some((_, revision)) => Ok(revision),
                None => Err(DurableError::Fenced),
            }
        }
        stored => stored,
    }
}

/// If this is dropped before an end is stored, nobody knows what the call did.
pub(crate) struct ClaimedKey {
    keys: Arc<IdempotencyKeys>,
    key: Key,
    record: KeyRecord,
    revision: Revision,
    /// Set once the call has begun to do something, to the revision of the record that says so.
    begun: Arc<OnceLock<Noted>>,
    /// The record of the parked call that is resumed.
    before: Option<KeyRecord>,
    /// Dropped last, because the requests that wait then look at what is stored.
    _in_use: KeyInUse,
}

impl ClaimedKey {
    pub(super) fn new(
        keys: Arc<IdempotencyKeys>,
        key: Key,
        record: KeyRecord,
        revision: Revision,
        before: Option<KeyRecord>,
        in_use: KeyInUse,
    ) -> Self {
        Self { keys, key, record, revision, begun: Arc::default(), before, _in_use: in_use }
    }

    /// A guard that records that the call is about to do something. Until it is used, the call is run again if its process is
    /// killed.
    pub(crate) fn effect_guard(&self) -> EffectGuard {
        let (keys, key, record, revision) = (self.keys.clone(), self.key.clone(), self.record.clone(), self.revision);
        let begun = self.begun.clone();
        Arc::new(move || -> StoreAnswer<()> {
            if !matches!(record.state, KeyState::Running { has_begun: false, .. }) {
                return Box::pin(std::future::ready(Ok(())));
            }
            let note = || note_effect(keys.clone(), key.clone(), record.clone(), revision).boxed().shared();
            let noted = begun.get_or_init(note).clone();
            Box::pin(async move { noted.await.map(drop) })
        })
    }

    /// The id of its task, if it becomes one.
    pub(crate) fn task(&self) -> &str {
        &self.record.task
    }

    /// Whether the request resumes a call that began under this key.
    pub(crate) fn is_resumed(&self) -> bool {
        self.before.is_some()
    }

    /// Stores that the call waits for answers.
    pub(crate) async fn park(self, token: String, result: JsonObject) {
        self.save(KeyState::Parked { token, result }, Duration::ZERO).await;
    }

    /// Stores that the call goes on as its task, which runs for at most this long.
    pub(crate) async fn became_task(self, run: Duration) {
        self.save(KeyState::Task, run).await;
    }

    /// Stores the result with which the call has ended.
    pub(crate) async fn end(self, result: JsonObject) {
        self.save(KeyState::Done { result }, Duration::ZERO).await;
    }

    /// Stores that the call has ended with an error of the protocol.
    pub(crate) async fn fail(self, error: JsonObject) {
        self.save(KeyState::Failed { error }, Duration::ZERO).await;
    }

    /// Restores the key as it was before, because nothing has run.
    pub(crate) async fn not_started(mut self) {
        match self.before.take() {
            Some(KeyRecord { state, .. }) => self.save(state, Duration::ZERO).await,
            None => {
                self.keys.table.lock().remove(&self.key);
                let expected = Expected::At(self.newest_revision().await);
                if let Err(error) = self.keys.store.remove(&self.key, expected, Durability::Process).await {
                    tracing::error!(%error, "the idempotency key of a call that was not started stays");
                }
            }
        }
    }

    async fn newest_revision(&self) -> Revision {
        match self.begun.get() {
            Some(noted) => noted.clone().await.unwrap_or(self.revision),
            None => self.revision,
        }
    }

    /// Stores a state. The key is then kept for the usual time plus `longer`.
    async fn save(self, mut state: KeyState, longer: Duration) {
        let Self { keys, key, record, .. } = &self;
        let revision = self.newest_revision().await;
        for pause in PAUSES {
            tokio::time::sleep(pause).await;
            let expires = keys.expiry().saturating_add(millis(longer));
            let changed = KeyRecord { expires, time: Some(keys.moment()), state: state.clone(), ..record.clone() };
            let value = changed.to_bytes();
            let room = keys.table.lock().put(key, CountedRecord::new(&changed, value.len()), &keys.limits);
            let bytes = value.len() as u64;
            let stored = match room {
                Some(gone) => {
                    keys.forget(gone);
                    keys.store.put(key, value, Expected::At(revision), Durability::Power).await
                }
                None => Err(DurableError::Full("server.idempotency.size".into())),
            };
            let error = match stored {
                Ok(_) => return keys.wake.notify_one(),
                Err(error) => error,
            };
            tracing::error!(%error, "what became of a call with an idempotency key cannot be stored");
            match (&error, &state) {
                (DurableError::TooLarge { .. } | DurableError::Full(_), KeyState::Done { result }) => {
                    state = KeyState::Done { result: not_kept(bytes, result.get("_meta")) };
                }
                // On a conflict, the change was made and only its response was lost.
                (DurableError::Conflict(_) | DurableError::Closed, _) => return,
                _ => {}
            }
        }
    }
}
