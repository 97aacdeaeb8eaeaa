//! MCP over stdin and stdout: one JSON-RPC message a line, until stdin ends.

use crate::mcp::Server;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio_util::sync::CancellationToken;

/// The connection broke.
#[derive(Debug, thiserror::Error)]
#[error("MCP over stdio ended: {0}")]
pub struct StdioError(String);

/// Serves until stdin ends or `stop` is cancelled.
pub async fn serve_stdio(server: Server, stop: CancellationToken) -> Result<(), StdioError> {
    let running = match server.serve_with_ct(rmcp::transport::stdio_pipes(), stop).await {
        Ok(running) => running,
        // A client that goes away before its first request is no failure of ours.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(StdioError(error.to_string())),
    };
    running.waiting().await.map(|_| ()).map_err(|error| StdioError(error.to_string()))
}
