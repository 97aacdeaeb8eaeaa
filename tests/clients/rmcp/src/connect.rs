//! A connection, as the arguments of these programs name it.

use anyhow::{Context, Result};
use rmcp::model::ProtocolVersion;
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt};

/// Connects to a URL, or to a command's stdin and stdout.
pub(crate) async fn connect<H: ClientHandler>(
    era: &str,
    target: &[String],
    handler: H,
) -> Result<RunningService<RoleClient, H>> {
    let mode = match era {
        "legacy" => ClientLifecycleMode::Initialize,
        _ => {
            ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::V_2026_07_28], legacy_version: None }
        }
    };
    let (first, rest) = target.split_first().context("name a URL, or a command after --")?;
    if first.starts_with("http") {
        // As the workspace builds reqwest, it has none of its own. An error says that there is one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let transport = StreamableHttpClientTransport::from_uri(first.as_str());
        return Ok(handler.serve_with_lifecycle(transport, mode).await?);
    }
    let mut command = tokio::process::Command::new(first);
    command.args(rest);
    Ok(handler.serve_with_lifecycle(TokioChildProcess::new(command)?, mode).await?)
}
