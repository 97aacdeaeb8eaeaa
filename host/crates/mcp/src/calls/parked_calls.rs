//! Calls that wait, between two requests, for their client to return with answers.

use super::live::LiveCall;
use super::parked_records::{ParkedRecord, ParkedRecords};
use super::parking_store::{ParkingError, ParkingStore};
use super::seal::{ParkedId, RequestBinding};
use super::wait_permits::WaitPermits;
use crate::client::pending::{PendingRequests, ResumeToken};
use platform::audit::Audit;
use platform::clock::Clock;
use platform::durable::DurableStore;
use policy::{ParkedCallLimits, Principal};
use std::io;
use std::sync::Arc;

/// The parked calls of a process, and the permits of those that wait on their own streams instead.
pub struct ParkedCalls {
    store: Arc<ParkingStore<(LiveCall, PendingRequests)>>,
    /// The records through which other processes find the calls; none if they are not stored.
    records: Option<Arc<ParkedRecords>>,
    permits: Arc<WaitPermits>,
    per_principal: u32,
}

/// What processes must share to take up each other's parked calls.
pub struct SharedParking {
    pub store: Arc<dyn DurableStore>,
    /// The key that seals tokens.
    pub key: [u8; 32],
    /// Audits the end of parked calls to which no client returns.
    pub audit: Audit,
}

/// Where the call behind a token is.
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub(crate) enum Parked {
    Here(LiveCall, PendingRequests),
    /// The call is in the store, if it exists at all.
    Stored(ParkedId),
}

/// Why a call was not parked.
#[derive(Debug)]
pub(crate) enum NotParked {
    /// It holds more than its owner may have parked.
    TooMuch,
    Failed(io::Error),
}

impl ParkedCalls {
    /// Without `shared`, parked calls end with the process.
    pub fn new(
        limits: ParkedCallLimits,
        clock: Arc<dyn Clock>,
        shared: Option<SharedParking>,
    ) -> io::Result<Arc<Self>> {
        let permits = Arc::new(WaitPermits::new(limits.clone()));
        let per_principal = u32::try_from(limits.per_principal).unwrap_or(u32::MAX);
        let shared = shared.filter(|_| limits.stored);
        let key = shared.as_ref().map(|shared| shared.key);
        let records = shared.map(|shared| ParkedRecords::new(shared.store, clock.clone(), &limits, shared.audit));
        let store = ParkingStore::new(limits, clock, key)?;
        Ok(Arc::new(Self { store, records, permits, per_principal }))
    }

    /// How many calls are parked in this process now.
    pub fn count(&self) -> usize {
        self.store.len()
    }

    /// Drops all calls that are parked in this process, because it ends. Another process can take up those that are stored.
    pub fn drop_all(&self) {
        self.store.clear();
    }

    /// Whether calls are also stored for other processes. Only a call with a journal can be stored.
    pub(crate) fn are_stored(&self) -> bool {
        self.records.is_some()
    }

    /// How many calls may be parked for one principal, nested ones included.
    pub(crate) fn per_principal(&self) -> u32 {
        self.per_principal
    }

    pub(crate) fn wait_permits(&self) -> &Arc<WaitPermits> {
        &self.permits
    }

    /// Parks a call and returns the token that resumes it. This may drop other calls from memory to make room; those that are
    /// stored, and this one if it is stored, lose only their place in memory.
    pub(crate) async fn park(
        &self,
        mut call: LiveCall,
        pending: PendingRequests,
        principal: &Principal,
        binding: &RequestBinding,
    ) -> Result<String, NotParked> {
        let binding = binding.with_resume_token(pending.resume_token());
        let (held, keep) = (call.held(), pending.timeout());
        let token = self.store.make_token(keep, &binding).map_err(NotParked::Failed)?;
        let mut is_stored = false;
        if let Some(records) = &self.records
            && !pending.has_renamed_keys()
            && let Some(steps) = call.life().journal.export()
        {
            let record = ParkedRecord {
                owner: principal.as_str().to_owned(),
                plugin: call.record().owner().1.name.to_string(),
                tool: call.record().tool().to_string(),
                call: call.record().call_id().to_string(),
                worked: u64::try_from(call.life().journal.worked().as_millis()).unwrap_or(u64::MAX),
                expires: token.expires,
                asked: pending.asked_keys(),
                steps,
            };
            match records.put(token.id, &record).await {
                Ok(stored) => {
                    let life = call.life();
                    life.journal.set_suspended(true);
                    life.stored = Some(stored);
                    is_stored = true;
                }
                Err(error) => tracing::warn!(%error, "a parked call is kept in memory only"),
            }
        }
        if self.store.park((call, pending), principal, held, &token) || is_stored {
            Ok(token.token)
        } else {
            Err(NotParked::TooMuch)
        }
    }

    /// Finds the call behind a token, which works once and only as the kind of token that it is. The error is a sentence
    /// for the client.
    pub(crate) fn find(
        &self,
        token: &str,
        kind: ResumeToken,
        binding: &RequestBinding,
    ) -> Result<Parked, &'static str> {
        let binding = binding.with_resume_token(kind);
        match self.store.take(token, &binding) {
            Ok((call, pending)) => Ok(Parked::Here(call, pending)),
            Err(error) => match self.store.open(token, &binding).filter(|_| self.are_stored()) {
                Some(id) => Ok(Parked::Stored(id)),
                None => Err(describe(error, kind)),
            },
        }
    }

    /// Whether a token may still resume the call that it was made for.
    pub(crate) fn is_open(&self, token: &str, kind: ResumeToken, binding: &RequestBinding) -> bool {
        self.store.open(token, &binding.with_resume_token(kind)).is_some()
    }

    /// Removes the stored record of a call that was parked here. Fails if the call goes on in another process.
    pub(crate) async fn claim(&self, call: &mut LiveCall, kind: ResumeToken) -> Result<(), &'static str> {
        let life = call.life();
        if let (Some(records), Some(stored)) = (&self.records, life.stored.take()) {
            match records.remove(&stored).await {
                Ok(true) => {}
                Ok(false) => return Err(describe(ParkingError::Invalid, kind)),
                Err(error) => {
                    tracing::error!(%error, "a parked call cannot be taken up");
                    return Err(STORE_FAILED);
                }
            }
        }
        life.journal.set_suspended(false);
        Ok(())
    }

    /// Stores a call again that could not be taken up now, so that the same token can take it up later.
    pub(crate) async fn put_back(&self, id: ParkedId, record: &ParkedRecord) {
        if let Some(records) = &self.records
            && let Err(error) = records.put(id, record).await
        {
            tracing::error!(%error, call = record.call, "a parked call that could not be taken up is lost");
        }
    }

    /// Takes the call behind a token out of the store.
    pub(crate) async fn load(&self, id: ParkedId, kind: ResumeToken) -> Result<ParkedRecord, &'static str> {
        let gone = || describe(ParkingError::Invalid, kind);
        let records = self.records.as_ref().ok_or_else(gone)?;
        match records.take(id).await {
            Ok(record) => record.ok_or_else(gone),
            Err(error) => {
                tracing::error!(%error, "a parked call cannot be taken up");
                Err(STORE_FAILED)
            }
        }
    }
}

const STORE_FAILED: &str = "the host cannot read what it has stored of this call; its log has the details";

/// An error that tells as little as possible to a client that guesses tokens, and why the call is gone to a client that had the
/// token.
fn describe(error: ParkingError, kind: ResumeToken) -> &'static str {
    match (kind, error) {
        (ResumeToken::RequestState, ParkingError::Invalid) => "Invalid or expired requestState",
        (ResumeToken::Continuation, ParkingError::Invalid) => "Invalid or expired continuation",
        (ResumeToken::RequestState, ParkingError::Expired) => {
            "Invalid or expired requestState: nobody answered in time, and the call was given up; call again without requestState"
        }
        (ResumeToken::RequestState, ParkingError::Evicted) => {
            "Invalid or expired requestState: too many calls were waiting for answers, and this one was given up; call again without requestState"
        }
        (ResumeToken::Continuation, ParkingError::Expired) => {
            "Invalid or expired continuation: no outcomes came in time, and the call was given up; call again without it"
        }
        (ResumeToken::Continuation, ParkingError::Evicted) => {
            "Invalid or expired continuation: too many calls were waiting, and this one was given up; call again without it"
        }
    }
}
