//! The handler table.

use super::listing::Lists;
use super::lot::Lot;
use super::reverse::live::Channels;
use super::reverse::{self, AskTools, Chains, HostOnly, Hub};
use super::session::Session;
use super::steer::{Running, STEERING};
use super::updates::Updates;
use super::{CALL, CLIENT_TOOLS, CORRELATION, PARTIAL_RESULTS, completion, listen, prompts, resources, tools, vendor};
use platform::changes::Changes;
use plugins::registry::{CurrentCatalog, Runner};
use policy::Principal;
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest, CustomResult,
    ExtensionCapabilities, Extensions, GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, MetaObject, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleServer, SubscriptionContext};
use runtime::engine::{CallError, caught};
use runtime::imports::{CallContext, ToolCaller};
use services::shelf::Shelf;
use std::sync::{Arc, PoisonError, RwLock};
use tokio_util::sync::CancellationToken;

/// The name a server stamps on its results (`SERVER_INFO_META_KEY` of the protocol).
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// What a server is made of.
pub struct Parts {
    /// What is offered now.
    pub catalog: Arc<CurrentCatalog>,
    /// Who runs calls.
    pub runner: Arc<Runner>,
    /// Who answers reverse calls.
    pub agent: Arc<dyn ToolCaller>,
    /// Where calls wait for answers.
    pub lot: Arc<Lot>,
    /// What clients are told of.
    pub changes: Changes,
    /// What calls leave behind.
    pub shelf: Arc<Shelf>,
    /// On whose behalf calls run.
    pub principal: Principal,
    /// Cancelled when subscriptions are to end.
    pub stop: CancellationToken,
    /// Whether tools are listed that stand in for requests of our own.
    pub fallback_tools: bool,
    /// Tools for which a client's model or user may stand in.
    pub ask: Option<Arc<AskTools>>,
}

/// One MCP server over what is offered. Clones are the same server and session.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
    session: Arc<Session>,
}

pub(super) struct Shared {
    pub(super) catalog: Arc<CurrentCatalog>,
    pub(super) runner: Arc<Runner>,
    /// Who answers reverse calls: the host's own tools, and those of clients.
    pub(super) hub: Hub,
    /// The same for calls whose clients have none.
    pub(super) host_only: Arc<dyn ToolCaller>,
    pub(super) lot: Arc<Lot>,
    pub(super) shelf: Arc<Shelf>,
    pub(super) stop: CancellationToken,
    pub(super) open: listen::Open,
    pub(super) running: Arc<Running>,
    pub(super) fallback_tools: bool,
    changes: Changes,
    /// Whoever asks when the transport does not say.
    principal: Principal,
    config: ServerConfig,
    lists: RwLock<Arc<Lists>>,
    server_info: serde_json::Value,
}

impl Server {
    /// A server with a session.
    pub fn new(parts: Parts) -> Self {
        let Parts { catalog, runner, agent, lot, shelf, changes, principal, stop, fallback_tools, ask } = parts;
        let me = Implementation::new("portcullis", env!("CARGO_PKG_VERSION")).with_title("Portcullis");
        let extensions = ExtensionCapabilities::from([
            (PARTIAL_RESULTS.to_owned(), Default::default()),
            (CLIENT_TOOLS.to_owned(), reverse::settings()),
            (STEERING.to_owned(), Default::default()),
        ]);
        // All of them, whatever is offered now: that can change while a client is connected.
        let capabilities = ServerCapabilities::builder()
            .enable_extensions_with(extensions)
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        let config = ServerConfig::new(capabilities).with_server_info(me.clone());
        let server_info = serde_json::to_value(&me).unwrap_or_default();
        let lists = RwLock::new(Arc::new(Lists::of(catalog.now(), fallback_tools)));
        let host_only: Arc<dyn ToolCaller> = Arc::new(HostOnly(agent.clone()));
        let (channels, chains, clock) = (Channels::default(), Chains::default(), runner.clock());
        let hub = Hub { host: agent, channels, ask, chains, clock };
        let shared = Shared {
            catalog,
            runner,
            hub,
            host_only,
            lot,
            shelf,
            stop,
            open: listen::Open::default(),
            running: Arc::default(),
            fallback_tools,
            changes,
            principal,
            config,
            lists,
            server_info,
        };
        Self { shared: Arc::new(shared), session: Arc::default() }
    }

    /// The same server for another session, or another request without one.
    pub fn session(&self) -> Self {
        Self { shared: self.shared.clone(), session: Arc::default() }
    }

    fn updates(&self, message: &Extensions, peer: &Peer<RoleServer>) -> &Updates {
        let shared = &self.shared;
        self.session.updates(|| Updates::new(&shared.changes, shared.principal_of(message), peer.clone()))
    }
}

impl Shared {
    /// `_meta` of every result.
    pub(super) fn meta(&self, correlation: Option<&str>) -> MetaObject {
        let mut meta = MetaObject::new();
        if let Some(correlation) = correlation {
            meta.insert(CORRELATION.to_owned(), correlation.into());
        }
        meta.insert(SERVER_INFO.to_owned(), self.server_info.clone());
        meta
    }

    /// `_meta` of a call's result.
    pub(super) fn meta_of(&self, call: &CallContext) -> MetaObject {
        let mut meta = self.meta(call.correlation_id.as_deref());
        meta.insert(CALL.to_owned(), call.id.as_str().into());
        meta
    }

    /// On whose behalf a request comes.
    pub(super) fn principal(&self, context: &RequestContext<RoleServer>) -> Principal {
        self.principal_of(&context.extensions)
    }

    /// On whose behalf any message comes: over HTTP `transport::identity` has found out.
    pub(super) fn principal_of(&self, message: &Extensions) -> Principal {
        let parts = message.get::<axum::http::request::Parts>();
        parts.and_then(|parts| parts.extensions.get::<Principal>()).unwrap_or(&self.principal).clone()
    }

    /// The catalog's lists, made anew when there is another catalog.
    pub(super) fn lists(&self) -> Arc<Lists> {
        let now = self.catalog.now();
        let lists = self.lists.read().unwrap_or_else(PoisonError::into_inner).clone();
        if Arc::ptr_eq(&lists.catalog, &now) {
            return lists;
        }
        let lists = Arc::new(Lists::of(now, self.fallback_tools));
        *self.lists.write().unwrap_or_else(PoisonError::into_inner) = lists.clone();
        lists
    }
}

/// A request of which the handling panics is answered with an error: rmcp's task would die of it and leave the client
/// waiting for ever.
async fn steady<R>(handling: impl Future<Output = Result<R, ErrorData>>) -> Result<R, ErrorData> {
    let failed = |error: CallError| Err(ErrorData::internal_error(error.to_string(), None));
    caught(handling).await.unwrap_or_else(failed)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        self.shared.config.clone()
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.updates(&context.extensions, &context.peer);
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        steady(async { tools::list(&self.shared, page) }).await
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        // The transport asks this on every call, to check `Mcp-Param-*` headers against the schema.
        self.shared.lists().tool(name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        context.extensions.insert(self.session.clone());
        steady(tools::call(&self.shared, request, context)).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        steady(vendor::call(&self.shared, request, context)).await
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.session.set_level(request.level);
        Ok(())
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        steady(async { resources::list(&self.shared, &self.shared.principal(&context), page) }).await
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        steady(async { resources::templates(&self.shared, page) }).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        context.extensions.insert(self.session.clone());
        steady(resources::read(&self.shared, request, context)).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        steady(async { self.updates(&context.extensions, &context.peer).subscribe(request.uri) }).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.updates(&context.extensions, &context.peer).unsubscribe(&request.uri);
        Ok(())
    }

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        steady(async { prompts::list(&self.shared, &self.shared.principal(&context), page) }).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        context.extensions.insert(self.session.clone());
        steady(prompts::get(&self.shared, request, context)).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        steady(completion::complete(&self.shared, request, context)).await
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.session.opens(self.shared.changes.subscribe());
        Some(listen::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let changes = self.session.opened().unwrap_or_else(|| self.shared.changes.subscribe());
        steady(listen::run(&self.shared, context, changes)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_answered() {
        let broken = steady(async { panic!("of the host") });
        let answer: Result<(), ErrorData> = broken.await;
        assert!(answer.unwrap_err().message.contains("the host failed"), "nothing of the panic is told");
        assert_eq!(steady(async { Ok(7) }).await.unwrap(), 7);
    }
}
