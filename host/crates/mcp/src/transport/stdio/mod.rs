//! MCP over stdin and stdout: one JSON-RPC message per line, until stdin ends or the server is stopped.

mod connection;
mod lines;
mod log_writer;
mod open_session;
mod outgoing;
mod partial_line;
mod refused_start;
mod resumption;
mod running;
mod shutdown;

use crate::handler::Server;
use connection::StdioConnection;
use platform::session_log::SessionLog;
use platform::standard_streams;
pub use refused_start::refuse_first_request;
use resumption::Resumption;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use shutdown::Shutdown;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

#[derive(Debug, thiserror::Error)]
#[error("MCP over stdio ended: {0}")]
pub struct StdioError(String);

/// Serves until nobody reads stdout, stdin ends, or `stop` is cancelled, and running calls have ended. They are cancelled at
/// the end of stdin (5 seconds later if they came with it), when nobody reads stdout, 9 seconds after `stop`, and as soon as
/// `force_stop` is cancelled. What an earlier process has left open in `log` is served first, and what a later one needs is
/// written there.
pub async fn serve_stdio(
    server: Server,
    log: Option<Arc<SessionLog>>,
    stop: CancellationToken,
    force_stop: CancellationToken,
) -> Result<(), StdioError> {
    let resumption = log.map(Resumption::begin).transpose();
    let resumption = resumption.map_err(|error| StdioError(format!("the log of the session: {error}")))?;
    let resumption = resumption.unwrap_or_default();
    let streams = (standard_streams::stdin(), standard_streams::stdout());
    let (stop, force_stop) = (stop.child_token(), force_stop.child_token());
    let shutdown = Shutdown::new(stop.clone(), force_stop.clone());
    let log = resumption.log().cloned();
    let _watch = AbortOnDropHandle::new(tokio::spawn(async move {
        standard_streams::nobody_reads_stdout().await;
        log.inspect(|log| log.client_has_gone());
        stop.cancel();
        force_stop.cancel();
    }));
    let connection = StdioConnection::new(server.context().clone(), streams, resumption, shutdown);
    let running = match server.serve(connection).await {
        Ok(running) => running,
        // A client may disconnect before its first request.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(StdioError(error.to_string())),
    };
    running.waiting().await.map(|_| ()).map_err(|error| StdioError(error.to_string()))
}
