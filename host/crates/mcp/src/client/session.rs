//! The state of one session: what a client of 2025-11-25 declares once. Newer clients declare it with every request.

use crate::client_tools::SessionDeclaration;
use crate::request_context::is_stateless;
use crate::subscriptions::updates::{LegacyUpdates, ListedCatalogs};
use platform::changes::Change;
use platform::sync::Mutex;
use rmcp::model::LoggingLevel;
use rmcp::service::{RequestContext, RoleServer};
use runtime::imports::LogLevel;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use tokio::sync::broadcast::Receiver;

/// Subscriptions that one session may have in the process of opening at the same time.
const MAX_OPENING: usize = 8;

/// One session over HTTP, one connection over stdio, or one request without a session.
#[derive(Default)]
pub(crate) struct ClientSession {
    min_log_level: Mutex<Option<LogLevel>>,
    /// Set when a client proves to use 2025-11-25.
    legacy_updates: OnceLock<LegacyUpdates>,
    listed: Arc<ListedCatalogs>,
    /// Receivers of subscriptions that are being acknowledged. They must see every change from the acknowledgement on,
    /// and rmcp starts the subscription only after it.
    opening: Mutex<VecDeque<Receiver<Change>>>,
    /// The tools that a client of 2025-11-25 declares for the whole session.
    declaration: SessionDeclaration,
}

impl ClientSession {
    pub(crate) fn legacy_updates(&self, start: impl FnOnce() -> LegacyUpdates) -> &LegacyUpdates {
        self.legacy_updates.get_or_init(start)
    }

    /// The catalogs that the client has listed.
    pub(crate) fn listed(&self) -> &Arc<ListedCatalogs> {
        &self.listed
    }

    /// The tools that a legacy client declared for the whole session.
    pub(crate) fn declaration(&self) -> &SessionDeclaration {
        &self.declaration
    }

    /// Keeps the receiver of a subscription that is about to be acknowledged.
    pub(crate) fn push_opening(&self, listener: Receiver<Change>) {
        let mut opening = self.opening.lock();
        if opening.len() >= MAX_OPENING {
            opening.pop_front();
        }
        opening.push_back(listener);
    }

    pub(crate) fn pop_opening(&self) -> Option<Receiver<Change>> {
        self.opening.lock().pop_front()
    }

    /// Applies `logging/setLevel`.
    pub(crate) fn set_level(&self, level: LoggingLevel) {
        *self.min_log_level.lock() = Some(from_logging_level(level));
    }
}

/// The lowest level of log messages that the client of a request wants; none if it wants no log messages.
pub(crate) fn min_log_level(context: &RequestContext<RoleServer>) -> Option<LogLevel> {
    let session = || *context.extensions.get::<Arc<ClientSession>>()?.min_log_level.lock();
    if is_stateless(context) { context.meta.log_level().map(from_logging_level) } else { session() }
}

fn from_logging_level(level: LoggingLevel) -> LogLevel {
    match level {
        LoggingLevel::Debug => LogLevel::Debug,
        LoggingLevel::Info => LogLevel::Info,
        LoggingLevel::Notice => LogLevel::Notice,
        LoggingLevel::Warning => LogLevel::Warning,
        LoggingLevel::Error => LogLevel::Error,
        LoggingLevel::Critical => LogLevel::Critical,
        LoggingLevel::Alert => LogLevel::Alert,
        _ => LogLevel::Emergency,
    }
}

pub(crate) fn to_logging_level(level: LogLevel) -> LoggingLevel {
    match level {
        LogLevel::Debug => LoggingLevel::Debug,
        LogLevel::Info => LoggingLevel::Info,
        LogLevel::Notice => LoggingLevel::Notice,
        LogLevel::Warning => LoggingLevel::Warning,
        LogLevel::Error => LoggingLevel::Error,
        LogLevel::Critical => LoggingLevel::Critical,
        LogLevel::Alert => LoggingLevel::Alert,
        LogLevel::Emergency => LoggingLevel::Emergency,
    }
}
