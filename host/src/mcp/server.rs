//! The handler table.

use super::lot::Lot;
use super::session::Session;
use super::{CORRELATION, PARTIAL_RESULTS, listing, tools};
use crate::imports::ToolCaller;
use crate::policy::Principal;
use crate::registry::{Catalog, Runner};
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ExtensionCapabilities, Implementation, ListToolsResult, MetaObject,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, SetLevelRequestParams, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use std::sync::Arc;

/// The name a server stamps on its results (`SERVER_INFO_META_KEY` of the protocol).
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// One MCP server over a catalog. Clones are the same server and session.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
    session: Arc<Session>,
}

pub(super) struct Shared {
    pub(super) catalog: Arc<Catalog>,
    pub(super) runner: Arc<Runner>,
    pub(super) agent: Arc<dyn ToolCaller>,
    pub(super) lot: Arc<Lot>,
    principal: Principal,
    config: ServerConfig,
    listing: ListToolsResult,
    server_info: serde_json::Value,
}

impl Server {
    /// Serves these tools to `principal`.
    pub fn new(
        catalog: Arc<Catalog>,
        runner: Arc<Runner>,
        agent: Arc<dyn ToolCaller>,
        lot: Arc<Lot>,
        principal: Principal,
    ) -> Self {
        let me = Implementation::new("portcullis", env!("CARGO_PKG_VERSION")).with_title("Portcullis");
        let extensions = ExtensionCapabilities::from([(PARTIAL_RESULTS.to_owned(), Default::default())]);
        let capabilities =
            ServerCapabilities::builder().enable_extensions_with(extensions).enable_logging().enable_tools().build();
        let config = ServerConfig::new(capabilities).with_server_info(me.clone());
        let server_info = serde_json::to_value(&me).unwrap_or_default();
        let mut listing = listing::of(&catalog);
        let mut meta = MetaObject::new();
        meta.insert(SERVER_INFO.to_owned(), server_info.clone());
        listing.meta = Some(meta);
        let shared = Shared { catalog, runner, agent, lot, principal, config, listing, server_info };
        Self { shared: Arc::new(shared), session: Arc::default() }
    }

    /// The same server for another session, or another request without one.
    pub fn session(&self) -> Self {
        Self { shared: self.shared.clone(), session: Arc::default() }
    }
}

impl Shared {
    /// On whose behalf a request comes.
    pub(super) fn principal(&self, _context: &RequestContext<RoleServer>) -> Principal {
        self.principal.clone()
    }

    /// `_meta` of every result.
    pub(super) fn meta(&self, correlation: Option<&str>) -> MetaObject {
        let mut meta = MetaObject::new();
        if let Some(correlation) = correlation {
            meta.insert(CORRELATION.to_owned(), correlation.into());
        }
        meta.insert(SERVER_INFO.to_owned(), self.server_info.clone());
        meta
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        self.shared.config.clone()
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(self.shared.listing.clone())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        // The transport asks this on every call, to check `Mcp-Param-*` headers against the schema.
        let at = self.shared.listing.tools.binary_search_by(|tool| tool.name.as_ref().cmp(name)).ok()?;
        self.shared.listing.tools.get(at).cloned()
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.session.set_level(request.level);
        Ok(())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        context.extensions.insert(self.session.clone());
        tools::call(&self.shared, request, context).await
    }
}
