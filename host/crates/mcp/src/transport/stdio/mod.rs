//! MCP over stdin and stdout: one JSON-RPC message per line, until stdin ends or the server is stopped.

mod connection;
mod lines;
mod outgoing;
mod running;
mod shutdown;

use crate::handler::Server;
use connection::Connection;
use platform::standard_streams;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use shutdown::Shutdown;
use tokio_util::sync::CancellationToken;

#[derive(Debug, thiserror::Error)]
#[error("MCP over stdio ended: {0}")]
pub struct StdioError(String);

/// Serves until stdin ends, or `stop` is cancelled, and running calls have ended. They are cancelled 5 seconds after the end of
/// stdin, 9 seconds after `stop`, or as soon as `force_stop` is cancelled.
pub async fn serve_stdio(
    server: Server,
    stop: CancellationToken,
    force_stop: CancellationToken,
) -> Result<(), StdioError> {
    let (input, output) = (standard_streams::stdin(), standard_streams::stdout());
    let shutdown = Shutdown::new(stop, force_stop);
    let connection = Connection::new(server.context().clone(), input, output, shutdown);
    let running = match server.serve(connection).await {
        Ok(running) => running,
        // A client may disconnect before its first request.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(StdioError(error.to_string())),
    };
    running.waiting().await.map(|_| ()).map_err(|error| StdioError(error.to_string()))
}
