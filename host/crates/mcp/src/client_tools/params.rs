//! The data of one request for reverse calls: the client's declaration, and the outcomes that a retry brings.

use super::declaration::ToolDeclaration;
use super::retry::RetryParams;
use protocol::names::CLIENT_TOOLS;
use rmcp::ErrorData;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// The key in `_meta` under which a request of 2026-07-28 has the client's capabilities.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The data that a request carries for reverse calls.
#[derive(Default)]
pub(crate) struct ReverseParams {
    /// The tools that may be called while the request is served.
    pub(crate) declaration: Option<Arc<ToolDeclaration>>,
    /// The parked call that the request continues, with its outcomes.
    pub(crate) retry: Option<RetryParams>,
}

/// The declaration that a legacy client made for its whole session, parsed with the first request that needs it.
#[derive(Default)]
pub(crate) struct SessionDeclaration(OnceLock<Result<Option<Arc<ToolDeclaration>>, String>>);

impl SessionDeclaration {
    fn get_or_parse(&self, context: &RequestContext<RoleServer>) -> Result<Option<Arc<ToolDeclaration>>, String> {
        self.0.get_or_init(|| parse_peer_declaration(context)).clone()
    }
}

impl ReverseParams {
    /// Reads the data. For a request without the extension this costs only a few look-ups.
    pub(crate) fn from_context(
        context: &RequestContext<RoleServer>,
        session: Option<&SessionDeclaration>,
        stateless: bool,
    ) -> Result<Self, ErrorData> {
        let declaration = declaration(context, session, stateless)?;
        let retry = if stateless { RetryParams::from_context(context)? } else { None };
        Ok(Self { declaration, retry })
    }
}

/// What the client declares on this request, or has declared for its session.
pub(super) fn declaration(
    context: &RequestContext<RoleServer>,
    session: Option<&SessionDeclaration>,
    stateless: bool,
) -> Result<Option<Arc<ToolDeclaration>>, ErrorData> {
    let declaration = match (context.meta.get(CAPABILITIES), session) {
        (Some(capabilities), _) => find_declaration(capabilities)
            .map_or(Ok(None), |value| ToolDeclaration::parse(value, stateless))
            .map(|declaration| declaration.map(Arc::new)),
        (None, Some(session)) => session.get_or_parse(context),
        (None, None) => Ok(None),
    };
    declaration.map_err(|why| ErrorData::invalid_params(why, None))
}

/// Finds the declaration. Libraries without a field for extensions declare them as experimental capabilities.
fn find_declaration(capabilities: &Value) -> Option<&Value> {
    ["extensions", "experimental"].into_iter().find_map(|field| capabilities.get(field)?.get(CLIENT_TOOLS))
}

fn parse_peer_declaration(context: &RequestContext<RoleServer>) -> Result<Option<Arc<ToolDeclaration>>, String> {
    let Some(client) = context.peer.peer_info() else { return Ok(None) };
    let find = |extensions: &BTreeMap<String, Map<String, Value>>| extensions.get(CLIENT_TOOLS).cloned();
    let capabilities = &client.capabilities;
    let found = capabilities.extensions.as_ref().and_then(find);
    let Some(fields) = found.or_else(|| capabilities.experimental.as_ref().and_then(find)) else { return Ok(None) };
    Ok(ToolDeclaration::parse(&Value::Object(fields), false)?.map(Arc::new))
}
