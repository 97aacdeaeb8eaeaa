//! The baseline: the benchmark's tools as an ordinary rmcp server without a sandbox, as fast as rmcp allows.

mod tools;

/// The compute tools use the guest's own source, so that both sides run the same code.
#[path = "../../guest/src/compute.rs"]
mod compute;

use std::sync::Arc;

use anyhow::{Context, Result};
use axum::serve::ListenerExt;
use clap::Parser;
use rmcp::ServiceExt;
use rmcp::transport::stdio_pipes;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use tools::Tools;

/// A native MCP server with the tools echo, fib, sum and chunks.
#[derive(Parser)]
struct Arguments {
    /// Serve Streamable HTTP on this address instead of stdio; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
}

#[tokio::main]
async fn main() -> Result<()> {
    match Arguments::parse().http {
        Some(address) => serve_http(&address).await,
        None => serve_stdio().await,
    }
}

/// The reactor drives the pipes: `transport::stdio` would pass every read and write to another thread.
async fn serve_stdio() -> Result<()> {
    Tools::new().serve(stdio_pipes()).await.context("no MCP client on stdin")?.waiting().await?;
    Ok(())
}

async fn serve_http(address: &str) -> Result<()> {
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    // Without TCP_NODELAY an answer waits for the client's delayed acknowledgement, 40 ms.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            eprintln!("cannot set TCP_NODELAY: {error}");
        }
    });
    // A plain JSON body is cheaper than a stream of one event; legacy clients still get sessions.
    let config = StreamableHttpServerConfig::default().with_json_response(true);
    let tools = Tools::new();
    let service =
        StreamableHttpService::new(move || Ok(tools.clone()), Arc::new(LocalSessionManager::default()), config);
    axum::serve(listener, axum::Router::new().route_service("/mcp", service)).await?;
    Ok(())
}
