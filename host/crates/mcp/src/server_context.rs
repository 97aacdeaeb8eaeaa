//! What all requests to a server share.

use crate::calls::parked_calls::ParkedCalls;
use crate::calls::steering::RunningCalls;
use crate::idempotency::IdempotencyKeys;
use crate::listing::fallback_tools::FALLBACK_TOOLS;
use crate::listing::lists::CatalogLists;
use crate::request_context;
use crate::reverse::LaneResources;
use crate::subscriptions::listen::OpenSubscriptions;
use crate::subscriptions::updates::SubscribedBytes;
use crate::tasks::Tasks;
use platform::changes::ChangeNotifier;
use platform::sync::RwLock;
use plugins::calls::Runner;
use plugins::catalog::CurrentCatalog;
use policy::Principal;
use protocol::names::{CALL_META, CORRELATION_META};
use rmcp::model::{Extensions, MetaObject, ServerConfig};
use rmcp::service::{RequestContext, RoleServer};
use runtime::imports::ToolCaller;
use serde_json::{Map, Value};
use services::principal_store::PrincipalStore;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The key in `_meta` for the name that a server adds to its results (`SERVER_INFO_META_KEY` of the protocol).
pub(crate) const SERVER_INFO_META: &str = "io.modelcontextprotocol/serverInfo";

/// How long a request for a list waits for plugins that are being loaded. Many clients read the lists only once, and wait for
/// 10 s in all before they give a server up.
const LIST_PATIENCE: Duration = Duration::from_secs(2);

pub(crate) struct ServerContext {
    pub(crate) catalog: Arc<CurrentCatalog>,
    pub(crate) runner: Arc<Runner>,
    pub(crate) lanes: LaneResources,
    /// The host's own tools, for calls whose clients declared none.
    pub(crate) host_tools: Arc<dyn ToolCaller>,
    pub(crate) parked_calls: Arc<ParkedCalls>,
    pub(crate) running_calls: Arc<RunningCalls>,
    pub(crate) tasks: Arc<Tasks>,
    pub(crate) keys: Arc<IdempotencyKeys>,
    pub(crate) principal_store: Arc<PrincipalStore>,
    pub(crate) changes: ChangeNotifier,
    pub(crate) subscriptions: OpenSubscriptions,
    /// Bytes of the subscriptions of clients of 2025-11-25.
    pub(crate) subscribed: Arc<SubscribedBytes>,
    pub(crate) stop: CancellationToken,
    pub(crate) fallback_tools: bool,
    /// The principal of all requests, if the transport does not authenticate.
    pub(crate) principal: Principal,
    pub(crate) config: ServerConfig,
    pub(crate) lists: RwLock<Arc<CatalogLists>>,
    pub(crate) server_info: Value,
}

impl ServerContext {
    /// The `_meta` that every result has.
    pub(crate) fn meta(&self, correlation: Option<&str>) -> MetaObject {
        // The capacity has room for what the result of a call adds: its id, its usage, its chunks or its error.
        let mut meta = Map::with_capacity(6);
        if let Some(correlation) = correlation {
            meta.insert(CORRELATION_META.to_owned(), correlation.into());
        }
        meta.insert(SERVER_INFO_META.to_owned(), self.server_info.clone());
        MetaObject(meta)
    }

    /// The `_meta` of a call's result.
    pub(crate) fn call_meta(&self, call: &str, correlation: Option<&str>) -> MetaObject {
        let mut meta = self.meta(correlation);
        meta.insert(CALL_META.to_owned(), call.into());
        meta
    }

    pub(crate) fn principal(&self, context: &RequestContext<RoleServer>) -> Principal {
        self.message_principal(&context.extensions)
    }

    pub(crate) fn message_principal(&self, message: &Extensions) -> Principal {
        request_context::principal(message).unwrap_or(&self.principal).clone()
    }

    /// Whether a name is that of one of the server's own tools.
    pub(crate) fn is_fallback_tool(&self, name: &str) -> bool {
        self.fallback_tools && FALLBACK_TOOLS.contains(&name)
    }

    /// The lists once everything is loaded, or the current ones if that takes too long: clients are notified of later changes.
    pub(crate) async fn complete_lists(&self) -> Arc<CatalogLists> {
        if self.catalog.snapshot().is_loading() {
            let _ = tokio::time::timeout(LIST_PATIENCE, self.catalog.loaded()).await;
        }
        self.lists()
    }

    /// The lists of the current catalog, built once for each catalog.
    pub(crate) fn lists(&self) -> Arc<CatalogLists> {
        let catalog = self.catalog.snapshot();
        let lists = self.lists.read().clone();
        if Arc::ptr_eq(&lists.catalog, &catalog) {
            return lists;
        }
        let lists = Arc::new(CatalogLists::new(catalog, self.fallback_tools));
        *self.lists.write() = lists.clone();
        lists
    }
}
