//! A call whose client reads nothing before the result and answers nothing: it needs no queue and no rounds.

use crate::calls::steering::RunningCallGuard;
use crate::client::chunk_record::ChunkRecord;
use crate::server_context::ServerContext;
use plugins::calls::{CallParent, CallRequest, CallTarget};
use runtime::imports::{CallContext, ClientLink, NoClient};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub(crate) struct PlainCall {
    pub(crate) context: CallContext,
    /// The name or URI that is called.
    pub(crate) called: Arc<str>,
    pub(crate) parent: Option<CallParent>,
    /// Cancelled when nobody wants the result any more.
    pub(crate) cancel: CancellationToken,
}

impl PlainCall {
    /// Registers the call, which is about to run.
    pub(crate) fn begin(
        self,
        server: &ServerContext,
        target: &CallTarget,
    ) -> (RunningCallGuard, CallRequest, ChunkRecord) {
        let Self { context, called, parent, cancel } = self;
        let (running, steering) = server.running_calls.register(&context, &called, target.reads_steering());
        let record = ChunkRecord::new(server.principal_store.clone(), &context, target.id().clone(), called);
        let link = ClientLink {
            sink: record.sink(),
            client: NoClient::shared(),
            agent: server.host_tools.clone(),
            steering,
            cancel,
        };
        (running, CallRequest { context, link, parent }, record)
    }
}
