//! The baseline: the benchmark's tools as an rmcp server without a sandbox, as fast as rmcp allows; and two yardsticks,
//! which are an ordinary rmcp server over stdio and a bare HTTP server.

mod floor;
mod tools;

/// The compute tools use the guest's own source, so that both sides run the same code.
#[path = "../../guest/src/compute.rs"]
mod compute;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::serve::ListenerExt;
use clap::Parser;
use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::transport::{stdio, stdio_pipes};
use tokio::net::TcpListener;

use tools::Tools;

/// A native MCP server with the tools echo, fib, sum and chunks.
#[derive(Parser)]
struct Arguments {
    /// Serve Streamable HTTP on this address instead of stdio; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
    /// Over stdio, read and write as rmcp's documentation shows it.
    #[arg(long)]
    ordinary: bool,
    /// Over HTTP, answer every request with the bytes of this file.
    #[arg(long, value_name = "FILE", requires = "http")]
    constant: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match arguments.http {
        Some(address) => serve_http(&address, arguments.constant.as_deref()).await,
        None => serve_stdio(arguments.ordinary).await,
    }
}

/// The reactor drives the pipes of a tuned server: `transport::stdio` passes every read and write to another thread.
async fn serve_stdio(ordinary: bool) -> Result<()> {
    let no_client = "no MCP client on stdin";
    let service = if ordinary {
        Tools::new().serve(stdio()).await.context(no_client)?
    } else {
        Tools::new().serve(stdio_pipes()).await.context(no_client)?
    };
    service.waiting().await?;
    Ok(())
}

async fn serve_http(address: &str, constant: Option<&Path>) -> Result<()> {
    let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    if let Some(file) = constant {
        let answer = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        return floor::serve(listener, answer).await;
    }
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
