//! What belongs to one session: what a legacy client has said once for all of it. Newer clients say it with every
//! request.

use super::reverse::Declared;
use super::updates::Updates;
use platform::changes::Change;
use rmcp::model::LoggingLevel;
use rmcp::service::{RequestContext, RoleServer};
use runtime::imports::Level;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::broadcast::Receiver;

/// Subscriptions that are being opened at one moment in one session.
const OPENING: usize = 8;

/// One session, or one connection over stdio, or one request without either.
#[derive(Default)]
pub(super) struct Session {
    logs: Mutex<Option<Level>>,
    /// For a client of the older protocol, from its first sign of being one.
    updates: OnceLock<Updates>,
    /// Listeners of subscriptions that are being acknowledged. They must hear what changes from then on, and rmcp calls
    /// for them only after that.
    opening: Mutex<VecDeque<Receiver<Change>>>,
    /// Its own tools, of a client of the older protocol.
    declared: OnceLock<Result<Option<Arc<Declared>>, String>>,
}

impl Session {
    /// What this legacy client is told of, which begins with the first time that anybody asks.
    pub(super) fn updates(&self, begin: impl FnOnce() -> Updates) -> &Updates {
        self.updates.get_or_init(begin)
    }

    /// What the client of this session lets the server call, read with the first request that asks.
    pub(super) fn declared(
        &self,
        read: impl FnOnce() -> Result<Option<Arc<Declared>>, String>,
    ) -> Result<Option<Arc<Declared>>, String> {
        self.declared.get_or_init(read).clone()
    }

    /// A subscription is about to be acknowledged.
    pub(super) fn opens(&self, listener: Receiver<Change>) {
        let mut opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if opening.len() >= OPENING {
            opening.pop_front();
        }
        opening.push_back(listener);
    }

    /// It was.
    pub(super) fn opened(&self) -> Option<Receiver<Change>> {
        self.opening.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// From now on it wants log messages from this level up (`logging/setLevel`).
    pub(super) fn set_level(&self, level: LoggingLevel) {
        *self.logs.lock().unwrap_or_else(PoisonError::into_inner) = Some(from_wire(level));
    }
}

/// From which level up the client of a request wants log messages; none: it wants none.
pub(super) fn logs(context: &RequestContext<RoleServer>) -> Option<Level> {
    let session = || context.extensions.get::<Arc<Session>>()?.logs.lock().map_or(None, |level| *level);
    if super::round::is_stateless(context) { context.meta.log_level().map(from_wire) } else { session() }
}

fn from_wire(level: LoggingLevel) -> Level {
    match level {
        LoggingLevel::Debug => Level::Debug,
        LoggingLevel::Info => Level::Info,
        LoggingLevel::Notice => Level::Notice,
        LoggingLevel::Warning => Level::Warning,
        LoggingLevel::Error => Level::Error,
        LoggingLevel::Critical => Level::Critical,
        LoggingLevel::Alert => Level::Alert,
        _ => Level::Emergency,
    }
}

/// A level as the protocol has it.
pub(super) fn to_wire(level: Level) -> LoggingLevel {
    match level {
        Level::Debug => LoggingLevel::Debug,
        Level::Info => LoggingLevel::Info,
        Level::Notice => LoggingLevel::Notice,
        Level::Warning => LoggingLevel::Warning,
        Level::Error => LoggingLevel::Error,
        Level::Critical => LoggingLevel::Critical,
        Level::Alert => LoggingLevel::Alert,
        Level::Emergency => LoggingLevel::Emergency,
    }
}
