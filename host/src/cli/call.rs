//! `portcullis call`.

use super::options::ConfigFile;
use super::prompt::TerminalClient;
use super::terminal::{TerminalSink, usage_line};
use super::text::{content_to_text, printable_lines};
use crate::config::Config;
use crate::host::{self, Host};
use anyhow::Context;
use mcp::transport::serve_account_pages;
use plugins::calls::{Answer, CallRequest};
use runtime::engine::HeldResources;
use runtime::imports::{CallContext, ClientLink};
use serde_json::Value;
use std::process::ExitCode;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

#[derive(clap::Args)]
pub(super) struct Call {
    /// The plugin's name in the configuration. May be an agent-side plugin.
    plugin: String,
    /// The tool's own name.
    tool: String,
    /// The arguments as a JSON object.
    #[arg(default_value = "{}", value_name = "JSON")]
    arguments: String,
    #[command(flatten)]
    file: ConfigFile,
}

impl Call {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let value: Value = serde_json::from_str(&self.arguments).context("the arguments are not JSON")?;
        anyhow::ensure!(value.is_object(), "the arguments must be a JSON object, such as '{{\"path\": \"/src\"}}'");
        let mut config = Config::load(&self.file.config)?;
        let names: Vec<_> = config.plugins.iter().chain(&config.agent).map(|spec| spec.id.name.to_string()).collect();
        anyhow::ensure!(names.contains(&self.plugin), "no plugin `{}`; there are: {}", self.plugin, names.join(", "));
        // What else clients see is not needed. Agent-side plugins may be called.
        config.plugins.retain(|spec| *spec.id.name == self.plugin);
        let (broker, cancel) = (host::open_connection_broker(&config)?, CancellationToken::new());
        let (host, mut loading) = Host::start(&config, broker.clone()).await?;
        loading.finish().await;
        if let Some(broker) = broker {
            serve_account_pages(broker, cancel.clone()).await?;
        }
        let catalog = host.catalog.loaded().await;
        let plugin = catalog.all_plugins().find(|plugin| *plugin.id().name == self.plugin);
        let plugin = plugin.with_context(|| {
            format!("`{}` cannot be called, since it cannot be loaded; the line above says why", self.plugin)
        })?;
        let tool = plugin.tool(&self.tool).with_context(|| {
            let names: Vec<_> = plugin.tools.iter().map(|tool| tool.tool.name.as_str()).collect();
            format!("`{}` has no tool `{}`; it has: {}", self.plugin, self.tool, names.join(", "))
        })?;
        let interrupted = cancel.clone();
        tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                interrupted.cancel();
            }
        });
        let terminal = Arc::new(TerminalSink::new());
        let request = CallRequest {
            context: CallContext::new("local"),
            link: ClientLink {
                sink: terminal.clone(),
                client: Arc::new(TerminalClient),
                agent: host.agent.clone(),
                steering: None,
                cancel,
                held: HeldResources::default(),
            },
            parent: None,
        };
        let finished = host.runner.call_tool(plugin.clone(), tool.clone(), value.into(), request).await;
        terminal.finish();
        let code = match &finished.result {
            Ok(answer) => {
                print(answer);
                if answer.is_error { ExitCode::FAILURE } else { ExitCode::SUCCESS }
            }
            Err(error) => {
                let text = error.for_operator();
                eprintln!(
                    "error[{}]: {}",
                    error.code(),
                    printable_lines(text.strip_prefix("denied: ").unwrap_or(&text))
                );
                ExitCode::FAILURE
            }
        };
        eprintln!("{}", usage_line(&finished.usage));
        host.close().await;
        Ok(code)
    }
}

fn print(answer: &Answer) {
    for content in &answer.content {
        println!("{}", content_to_text(content));
    }
}
