//! The handler table.

use super::legacy::Legacy;
use super::listing::Lists;
use super::{PARTIAL_RESULTS, completion, listen, prompts, resources, tools};
use crate::changes::{Change, Changes};
use crate::imports::ToolCaller;
use crate::policy::Principal;
use crate::registry::{CurrentCatalog, Runner};
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, ExtensionCapabilities, Extensions,
    GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, MetaObject, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleServer, SubscriptionContext};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use tokio::sync::broadcast::Receiver;
use tokio_util::sync::CancellationToken;

/// The name a server stamps on its results (`SERVER_INFO_META_KEY` of the protocol).
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// Subscriptions that are being opened at one moment on one connection.
const OPENING: usize = 8;

/// What a server is made of.
pub struct Parts {
    /// What is offered now.
    pub catalog: Arc<CurrentCatalog>,
    /// Who runs calls.
    pub runner: Arc<Runner>,
    /// Who answers reverse calls.
    pub agent: Arc<dyn ToolCaller>,
    /// What clients are told of.
    pub changes: Changes,
    /// On whose behalf calls run.
    pub principal: Principal,
    /// Cancelled when subscriptions are to end.
    pub stop: CancellationToken,
}

/// One connection to the server: a process over stdio, a session or a single request over HTTP.
pub struct Server {
    shared: Arc<Shared>,
    /// For a client of the older protocol, from its first sign of being one.
    legacy: OnceLock<Legacy>,
    /// Listeners of subscriptions that are being acknowledged. They must hear what changes from then on, and rmcp calls
    /// for them only after that.
    opening: Mutex<VecDeque<Receiver<Change>>>,
}

pub(super) struct Shared {
    pub(super) catalog: Arc<CurrentCatalog>,
    pub(super) runner: Arc<Runner>,
    pub(super) agent: Arc<dyn ToolCaller>,
    pub(super) stop: CancellationToken,
    pub(super) open: listen::Open,
    changes: Changes,
    principal: Principal,
    config: ServerConfig,
    lists: RwLock<Arc<Lists>>,
    server_info: serde_json::Value,
}

impl Server {
    /// A server without connections.
    pub fn new(parts: Parts) -> Self {
        let Parts { catalog, runner, agent, changes, principal, stop } = parts;
        let me = Implementation::new("portcullis", env!("CARGO_PKG_VERSION")).with_title("Portcullis");
        let extensions = ExtensionCapabilities::from([(PARTIAL_RESULTS.to_owned(), Default::default())]);
        // All of them, whatever is offered now: that can change while a client is connected.
        let capabilities = ServerCapabilities::builder()
            .enable_extensions_with(extensions)
            .enable_completions()
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
        let lists = RwLock::new(Arc::new(Lists::of(catalog.now())));
        let open = listen::Open::default();
        let shared = Shared { catalog, runner, agent, stop, open, changes, principal, config, lists, server_info };
        Self::over(Arc::new(shared))
    }

    /// A further connection to the same server.
    pub fn connection(&self) -> Self {
        Self::over(self.shared.clone())
    }

    fn over(shared: Arc<Shared>) -> Self {
        Self { shared, legacy: OnceLock::new(), opening: Mutex::default() }
    }

    fn legacy(&self, extensions: &Extensions, peer: &Peer<RoleServer>) -> &Legacy {
        let shared = &self.shared;
        self.legacy.get_or_init(|| Legacy::new(&shared.changes, shared.principal(extensions), peer.clone()))
    }

    fn opening(&self) -> std::sync::MutexGuard<'_, VecDeque<Receiver<Change>>> {
        self.opening.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// `_meta` of every result.
    pub(super) fn meta(&self) -> MetaObject {
        let mut meta = MetaObject::new();
        meta.insert(SERVER_INFO.to_owned(), self.server_info.clone());
        meta
    }

    /// On whose behalf a message came.
    pub(super) fn principal(&self, _message: &Extensions) -> Principal {
        self.principal.clone()
    }

    /// The catalog's lists, made anew when there is another catalog.
    pub(super) fn lists(&self) -> Arc<Lists> {
        let now = self.catalog.now();
        let lists = self.lists.read().unwrap_or_else(PoisonError::into_inner).clone();
        if Arc::ptr_eq(&lists.catalog, &now) {
            return lists;
        }
        let lists = Arc::new(Lists::of(now));
        *self.lists.write().unwrap_or_else(PoisonError::into_inner) = lists.clone();
        lists
    }
}

#[allow(deprecated, reason = "clients of 2025-11-25 subscribe to resources in the older way")]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        self.shared.config.clone()
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.legacy(&context.extensions, &context.peer);
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        tools::list(&self.shared, page)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        // The transport asks this on every call, to check `Mcp-Param-*` headers against the schema.
        self.shared.lists().tool(name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        tools::call(&self.shared, request, context).await.map(CallToolResponse::Complete)
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        resources::list(&self.shared, page)
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        resources::templates(&self.shared, page)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&self.shared, request, context).await.map(ReadResourceResponse::Complete)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.legacy(&context.extensions, &context.peer).subscribe(request.uri)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.legacy(&context.extensions, &context.peer).unsubscribe(&request.uri);
        Ok(())
    }

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        prompts::list(&self.shared, page)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&self.shared, request, context).await.map(GetPromptResponse::Complete)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        completion::complete(&self.shared, request, context).await
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let mut opening = self.opening();
        if opening.len() >= OPENING {
            opening.pop_front();
        }
        opening.push_back(self.shared.changes.subscribe());
        Some(listen::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let changes = self.opening().pop_front().unwrap_or_else(|| self.shared.changes.subscribe());
        listen::run(&self.shared, context, changes).await
    }
}
