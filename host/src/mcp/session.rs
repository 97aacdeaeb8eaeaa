//! What a legacy client has said once for its whole session. Newer clients say it with every request.

use crate::imports::Level;
use rmcp::model::LoggingLevel;
use rmcp::service::{RequestContext, RoleServer};
use std::sync::{Arc, Mutex, PoisonError};

/// One session, or one connection over stdio.
#[derive(Debug, Default)]
pub(super) struct Session {
    logs: Mutex<Option<Level>>,
}

impl Session {
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
