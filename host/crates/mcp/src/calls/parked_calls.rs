//! Calls that wait, between two requests, for their client to return with answers.

use super::live::LiveCall;
use super::parking_store::{NotParked, ParkingError, ParkingStore};
use super::seal::RequestBinding;
use super::wait_permits::WaitPermits;
use crate::client::pending::{PendingRequests, ResumeToken};
use platform::clock::Clock;
use policy::{ParkedCallLimits, Principal};
use std::sync::Arc;

/// The parked calls of a process, and the permits of those that wait on their own streams instead.
pub struct ParkedCalls {
    store: Arc<ParkingStore<(LiveCall, PendingRequests)>>,
    permits: Arc<WaitPermits>,
    per_principal: u32,
}

impl ParkedCalls {
    pub fn new(limits: ParkedCallLimits, clock: Arc<dyn Clock>) -> std::io::Result<Arc<Self>> {
        let permits = Arc::new(WaitPermits::new(limits.clone()));
        let per_principal = u32::try_from(limits.per_principal).unwrap_or(u32::MAX);
        Ok(Arc::new(Self { store: ParkingStore::new(limits, clock)?, permits, per_principal }))
    }

    /// How many calls are parked now.
    pub fn count(&self) -> usize {
        self.store.len()
    }

    /// Ends all that are parked, since nobody can return to them when the process ends.
    pub fn end_all(&self) {
        self.store.clear();
    }

    /// How many calls may be parked for one principal, nested ones included.
    pub(crate) fn per_principal(&self) -> u32 {
        self.per_principal
    }

    pub(crate) fn wait_permits(&self) -> &Arc<WaitPermits> {
        &self.permits
    }

    /// Parks a call and returns the token that resumes it. Other calls may have to make room.
    pub(crate) fn park(
        &self,
        call: LiveCall,
        pending: PendingRequests,
        principal: &Principal,
        binding: &RequestBinding,
    ) -> Result<String, NotParked> {
        let binding = binding.with_resume_token(pending.resume_token());
        let (held, keep) = (call.held(), pending.timeout());
        self.store.park((call, pending), principal, held, keep, &binding)
    }

    /// Takes out the call behind a token, which works once and only as the kind of token that it is. The error is a
    /// sentence for the client.
    pub(crate) fn take(
        &self,
        token: &str,
        kind: ResumeToken,
        binding: &RequestBinding,
    ) -> Result<(LiveCall, PendingRequests), &'static str> {
        self.store.take(token, &binding.with_resume_token(kind)).map_err(|error| describe(error, kind))
    }
}

/// Says as little as possible to a client that guesses tokens, and why the call is gone to one that had the token.
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
