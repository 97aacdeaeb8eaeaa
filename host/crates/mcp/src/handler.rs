//! The MCP server: what it announces, and which function handles which method.

use crate::calls::parked_calls::ParkedCalls;
use crate::client::session::ClientSession;
use crate::client_tools;
use crate::idempotency::IdempotencyKeys;
use crate::listing::lists::CatalogLists;
use crate::request_context::Interrupted;
use crate::requests::task_resume::TaskCalls;
use crate::requests::{completion, extensions, prompts, resources, tasks, tools};
use crate::reverse::live::LiveChannels;
use crate::reverse::{CallChains, HostToolsOnly, LaneResources, StandInTools};
use crate::server_context::ServerContext;
use crate::subscriptions::listen::{self, OpenSubscriptions};
use crate::subscriptions::updates::LegacyUpdates;
use crate::tasks::Tasks;
use platform::changes::{Change, ChangeNotifier, ListPart};
use platform::sync::RwLock;
use plugins::calls::Runner;
use plugins::catalog::CurrentCatalog;
use policy::Principal;
use protocol::names::{CLIENT_TOOLS, PARTIAL_RESULTS, STEERING};
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ExtensionCapabilities, Extensions, GetPromptRequestParams, GetPromptResponse, GetTaskParams,
    GetTaskResult, Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, TASKS_EXTENSION_ID, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleServer, SubscriptionContext};
use runtime::engine::{CallError, catch_panic};
use runtime::imports::ToolCaller;
use services::principal_store::PrincipalStore;
use std::borrow::Cow;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The versions that are served, oldest first. 2025-03-26 is not served, because it has batches.
const VERSIONS: [ProtocolVersion; 4] = [
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// The parts that a server is made of.
pub struct ServerParts {
    pub catalog: Arc<CurrentCatalog>,
    pub runner: Arc<Runner>,
    /// Answers reverse calls to the host's own tools.
    pub host_tools: Arc<dyn ToolCaller>,
    pub parked_calls: Arc<ParkedCalls>,
    pub tasks: Arc<Tasks>,
    pub keys: Arc<IdempotencyKeys>,
    /// The changes that clients are notified of.
    pub changes: ChangeNotifier,
    pub principal_store: Arc<PrincipalStore>,
    /// The principal of all requests, if the transport does not authenticate.
    pub principal: Principal,
    /// Cancelled when subscriptions are to end.
    pub stop: CancellationToken,
    /// Whether to list tools that do the same as requests of our own extensions.
    pub fallback_tools: bool,
    /// Tools for which a client's model or user may stand in.
    pub stand_in_tools: Option<Arc<StandInTools>>,
}

/// One session of an MCP server. Clones share the session.
#[derive(Clone)]
pub struct Server {
    context: Arc<ServerContext>,
    session: Arc<ClientSession>,
}

impl Server {
    pub fn new(parts: ServerParts) -> Self {
        let ServerParts { catalog, runner, host_tools, parked_calls, tasks, keys, changes, .. } = parts;
        let me = Implementation::new("portcullis", env!("CARGO_PKG_VERSION")).with_title("Portcullis");
        let extensions = ExtensionCapabilities::from([
            (PARTIAL_RESULTS.to_owned(), Default::default()),
            (CLIENT_TOOLS.to_owned(), client_tools::capability_settings()),
            (STEERING.to_owned(), Default::default()),
            (TASKS_EXTENSION_ID.to_owned(), Default::default()),
        ]);
        // All capabilities are declared, whatever the catalog has now, because it can change while a client is connected.
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
        let lists = RwLock::new(Arc::new(CatalogLists::new(catalog.snapshot(), parts.fallback_tools)));
        let lanes = LaneResources {
            host: host_tools.clone(),
            channels: LiveChannels::default(),
            stand_in_tools: parts.stand_in_tools,
            chains: CallChains::default(),
            clock: runner.clock(),
        };
        let context = ServerContext {
            catalog,
            runner,
            lanes,
            host_tools: Arc::new(HostToolsOnly(host_tools)),
            parked_calls,
            running_calls: Arc::default(),
            tasks,
            keys,
            principal_store: parts.principal_store,
            changes,
            subscriptions: OpenSubscriptions::default(),
            subscribed: Arc::default(),
            stop: parts.stop,
            fallback_tools: parts.fallback_tools,
            principal: parts.principal,
            config,
            lists,
            server_info,
        };
        let context = Arc::new(context);
        context.tasks.resume_with(TaskCalls::new(&context));
        Self { context, session: Arc::default() }
    }

    /// The same server with a new session, for another connection or for a request without a session.
    pub fn with_new_session(&self) -> Self {
        Self { context: self.context.clone(), session: Arc::default() }
    }

    /// What all its sessions share.
    pub(crate) fn context(&self) -> &Arc<ServerContext> {
        &self.context
    }

    /// When everything is loaded, notifies listeners that all lists may have changed, because an earlier process may have had
    /// other ones.
    fn announce_lists(&self) {
        let (catalog, changes) = (self.context.catalog.clone(), self.context.changes.clone());
        tokio::spawn(self.context.stop.clone().run_until_cancelled_owned(async move {
            let number = catalog.loaded().await.number();
            let shared = ListPart::Shared(number);
            for change in [Change::Tools(number), Change::Prompts(shared.clone()), Change::Resources(shared)] {
                changes.send(change);
            }
        }));
    }

    fn legacy_updates(&self, message: &Extensions, peer: &Peer<RoleServer>) -> &LegacyUpdates {
        let server = &self.context;
        self.session.legacy_updates(|| {
            let (principal, bytes) = (server.message_principal(message), server.subscribed.clone());
            LegacyUpdates::start(&server.changes, principal, peer.clone(), bytes, self.session.listed().clone())
        })
    }
}

/// The version for a handshake: the newest that is not newer than the one in the request, since a client requests the newest
/// version that it knows.
fn negotiate(asked: &ProtocolVersion) -> ProtocolVersion {
    let mut known = VERSIONS.iter().rev().filter(|version| version.has_initialize());
    known.find(|version| version.as_str() <= asked.as_str()).unwrap_or(&ProtocolVersion::LATEST_WITH_INITIALIZE).clone()
}

/// Answers a request whose handler panics with an error. Otherwise rmcp's task would end and the client would wait forever.
async fn catch_handler_panic<R>(handler: impl Future<Output = Result<R, ErrorData>>) -> Result<R, ErrorData> {
    let failed = |error: CallError| Err(ErrorData::internal_error(error.to_string(), None));
    catch_panic(handler).await.unwrap_or_else(failed)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        self.context.config.clone().with_instructions(self.context.lists().instructions.clone())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&VERSIONS)
    }

    fn negotiate_initialize(&self, request: &InitializeRequestParams) -> Result<InitializeResult, ErrorData> {
        let mut info = self.get_info();
        info.protocol_version = negotiate(&request.protocol_version);
        Ok(info)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.legacy_updates(&context.extensions, &context.peer);
        if Interrupted::is_in(&context.extensions) {
            self.announce_lists();
        }
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let reading = self.session.listed().tools.begin(context.ct);
        catch_handler_panic(tools::list(&self.context, page, &reading)).await
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        // The transport calls this for every call, to check `Mcp-Param-*` headers against the schema.
        self.context.lists().tool(name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        context.extensions.insert(self.session.clone());
        catch_handler_panic(tools::call(&self.context, request, context)).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        catch_handler_panic(extensions::call(&self.context, request, context)).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        catch_handler_panic(tasks::get(&self.context, request, context)).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        catch_handler_panic(tasks::update(&self.context, request, context)).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        catch_handler_panic(tasks::cancel(&self.context, request, context)).await
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
        let principal = self.context.principal(&context);
        let reading = self.session.listed().resources.begin(context.ct);
        catch_handler_panic(resources::list(&self.context, &principal, page, &reading)).await
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let reading = self.session.listed().templates.begin(context.ct);
        catch_handler_panic(resources::templates(&self.context, page, &reading)).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        context.extensions.insert(self.session.clone());
        catch_handler_panic(resources::read(&self.context, request, context)).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        catch_handler_panic(async { self.legacy_updates(&context.extensions, &context.peer).subscribe(request.uri) })
            .await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.legacy_updates(&context.extensions, &context.peer).unsubscribe(&request.uri);
        Ok(())
    }

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let principal = self.context.principal(&context);
        let reading = self.session.listed().prompts.begin(context.ct);
        catch_handler_panic(prompts::list(&self.context, &principal, page, &reading)).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        context.extensions.insert(self.session.clone());
        catch_handler_panic(prompts::get(&self.context, request, context)).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        catch_handler_panic(completion::complete(&self.context, request, context)).await
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.session.push_opening(self.context.changes.subscribe());
        Some(listen::accept_filter(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let server = &self.context;
        let changes = self.session.pop_opening().unwrap_or_else(|| server.changes.subscribe());
        let principal = server.principal(context.request_context());
        if Interrupted::is_in(&context.request_context().extensions) {
            self.announce_lists();
        }
        let running = listen::run(&server.subscriptions, principal, &server.stop, context, &server.changes, changes);
        catch_handler_panic(running).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_gets_what_the_client_knows_and_is_served() {
        for (asked, answered) in [
            ("2024-10-07", "2025-11-25"),
            ("2024-11-05", "2024-11-05"),
            ("2025-03-26", "2024-11-05"),
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-11-25"),
            ("9999-12-31", "2025-11-25"),
        ] {
            let asked = serde_json::from_value(asked.into()).unwrap();
            assert_eq!(negotiate(&asked).as_str(), answered, "{asked}");
        }
    }

    #[tokio::test]
    async fn a_panic_is_answered() {
        let broken = catch_handler_panic(async { panic!("of the host") });
        let answer: Result<(), ErrorData> = broken.await;
        assert!(answer.unwrap_err().message.contains("the host failed"), "the panic message is not sent");
        assert_eq!(catch_handler_panic(async { Ok(7) }).await.unwrap(), 7);
    }
}
