//! What a request contains apart from its parameters.

use bytes::Bytes;
use policy::Principal;
use protocol::names::CORRELATION_META;
use protocol::questions;
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, Extensions, GetExtensions as _, ProtocolVersion};
use rmcp::service::{RequestContext, RoleServer};
use runtime::engine::TaskOwner;
use runtime::imports::{Abilities, CallContext};
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// Bytes of a correlation id. Longer ones are refused, since they would be echoed in every notification.
pub(crate) const MAX_CORRELATION: usize = 256;

/// Whether the protocol has no sessions (2026-07-28 and later), so that a question has to end the request.
pub(crate) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    // Versions are dates, which compare as text.
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Whether the client declared this extension.
pub(crate) fn declares(context: &RequestContext<RoleServer>, extension: &str) -> bool {
    context
        .client_capabilities()
        .and_then(|declared| declared.extensions)
        .is_some_and(|all| all.contains_key(extension))
}

/// What the client declared that it may be asked for.
pub(crate) fn abilities(context: &RequestContext<RoleServer>) -> Abilities {
    context.client_capabilities().map(|declared| questions::abilities_from_capabilities(&declared)).unwrap_or_default()
}

/// The context of a call, as its guest sees it.
pub(crate) fn call_context(
    principal: &Principal,
    context: &RequestContext<RoleServer>,
) -> Result<CallContext, ErrorData> {
    let mut call = CallContext::new(principal.clone());
    call.traceparent = context.meta.get_traceparent().map(str::to_owned);
    call.correlation_id = match context.meta.get(CORRELATION_META) {
        None => None,
        Some(Value::String(id)) if id.len() <= MAX_CORRELATION => Some(id.clone()),
        Some(_) => {
            let text = format!("_meta[\"{CORRELATION_META}\"] must be a string of at most {MAX_CORRELATION} bytes");
            return Err(ErrorData::invalid_params(text, None));
        }
    };
    Ok(call)
}

/// The principal that `transport::identity` has found; none if the transport does not authenticate.
pub(crate) fn principal(message: &Extensions) -> Option<&Principal> {
    message.get::<axum::http::request::Parts>()?.extensions.get()
}

/// Whether a message came over HTTP, with headers.
pub(crate) fn is_http(message: &Extensions) -> bool {
    message.get::<axum::http::request::Parts>().is_some()
}

/// Marks a message that an earlier process received before it was killed: a request that it had not answered, or one that had
/// set up the session.
#[derive(Clone)]
pub(crate) struct Interrupted;

impl Interrupted {
    pub(crate) fn mark(self, message: &mut ClientJsonRpcMessage) {
        match message {
            ClientJsonRpcMessage::Request(message) => drop(message.request.extensions_mut().insert(self)),
            ClientJsonRpcMessage::Notification(message) => drop(message.notification.extensions_mut().insert(self)),
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => {}
        }
    }

    pub(crate) fn is_in(message: &Extensions) -> bool {
        message.get::<Self>().is_some()
    }
}

/// The text of a request in a session, if it is short enough to be stored with a call that waits.
#[derive(Clone)]
pub(crate) struct RequestText(pub(crate) Bytes);

impl RequestText {
    /// Bytes of the longest text. Bounds what is stored for a client that makes calls and never answers questions.
    const MOST: usize = 64 << 10;

    pub(crate) fn new(text: &Bytes) -> Option<Self> {
        (text.len() <= Self::MOST).then(|| Self(text.clone()))
    }

    /// The text that the transport has put into the request.
    pub(crate) fn from_message(message: &Extensions) -> Option<Self> {
        message.get::<axum::http::request::Parts>()?.extensions.get().cloned()
    }
}

/// Set when the response to a request is large, to the principal and plugin for which the transport then serializes it in the
/// compute pool. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct LargeAnswer(Arc<OnceLock<TaskOwner>>);

impl LargeAnswer {
    /// The one that the transport has put into the request; none if the transport does not need it.
    pub(crate) fn from_message(message: &Extensions) -> Option<Self> {
        message.get::<axum::http::request::Parts>()?.extensions.get().cloned()
    }

    pub(crate) fn set(&self, owner: TaskOwner) {
        // A request has only one response, so this is set once.
        let _ = self.0.set(owner);
    }

    pub(crate) fn owner(&self) -> Option<&TaskOwner> {
        self.0.get()
    }
}
