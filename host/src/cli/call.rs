//! `portcullis call`.

use super::call_arguments::CallArguments;
use super::json::{self, JsonOption};
use super::options::ConfigFile;
use super::prompt::TerminalClient;
use super::terminal::{TerminalSink, usage_line};
use super::test::Recording;
use super::text::{content_to_text, printable_lines};
use crate::config::Config;
use crate::host::{self, Host};
use anyhow::{Context, bail};
use mcp::transport::serve_account_pages;
use platform::telemetry::printable;
use plugins::calls::{Answer, CallRequest};
use plugins::catalog::{Catalog, Plugin, UpstreamTool};
use plugins::install::Lockfile;
use plugins::offer::PluginTool;
use runtime::engine::{CallError, HeldResources};
use runtime::imports::{CallContext, ClientLink, Tool};
use runtime::journal::CallJournal;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Exit statuses besides 0 and 1.
const DENIED: u8 = 3;
const INTERRUPTED: u8 = 130;

#[derive(clap::Args)]
#[command(
    after_help = "Exit status: 0 if the tool succeeded, 1 if it failed or was not recorded, 2 for wrong usage, 3 if it was denied, 130 if interrupted."
)]
pub(super) struct Call {
    /// The tool as clients see it, such as files__read; or the name of its plugin or server, followed by the tool's own name. The
    /// plugin may be an agent-side one.
    name: String,
    /// The arguments: NAME=VALUE, NAME=@FILE for the text of a file, or a JSON object: '{"path": "/src"}', @FILE, or - for
    /// stdin.
    #[arg(value_name = "[TOOL] ARGUMENTS")]
    rest: Vec<String>,
    /// Also write the call into a transcript: its questions and their answers, what the agent's tools and servers said, and what
    /// it did. `portcullis test` replays it. If the file exists, the call is added to it.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    json: JsonOption,
    #[command(flatten)]
    file: ConfigFile,
}

impl Call {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let mut config = Config::load_with_own_state(&self.file.config)?;
        let (called, words) = self.called(&config)?;
        let arguments = CallArguments::read(words)?;
        let context = CallContext::new("local");
        let spec = config.plugins.iter().chain(&config.agent).find(|spec| *spec.id.name == called.owner);
        let recording = match (&self.record, spec) {
            (Some(file), Some(spec)) => Some(Recording::begin(file, &config, spec, context.id.clone())?),
            (Some(_), None) => bail!("`{}` is a server behind this host: its calls are not recorded", called.owner),
            (None, _) => None,
        };
        if called.is_server {
            config.upstreams.retain(|upstream| upstream.name == called.owner);
        }
        // Only the called plugin is needed, unless it is the one that runs programs: these may call other tools. Agent-side
        // plugins stay, since the call may use them.
        if config.code.as_ref().is_none_or(|code| *code.plugin.name != called.owner) {
            config.plugins.retain(|spec| *spec.id.name == called.owner);
            config.code = None;
        }
        let (broker, cancel) = (host::open_connection_broker(&config)?, CancellationToken::new());
        let wrap = |backends| match &recording {
            Some(recording) => recording.backends(backends),
            None => backends,
        };
        let (host, mut loading) = Host::start_behind(&config, broker.clone(), wrap).await?;
        loading.finish().await;
        if let Some(broker) = broker {
            serve_account_pages(broker, cancel.clone()).await?;
        }
        let catalog = host.catalog.loaded().await;
        let tool = called.find(&catalog)?;
        let schema = serde_json::from_str(&tool.described().input_schema).unwrap_or_default();
        let value = Value::from(arguments.for_schema(&schema));
        let interrupted = cancel.clone();
        tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                interrupted.cancel();
            }
        });
        let terminal = Arc::new(TerminalSink::new(!self.json.is_set));
        let link = ClientLink {
            sink: terminal.clone(),
            client: Arc::new(TerminalClient { sink: terminal.clone() }),
            agent: host.agent.clone(),
            steering: None,
            cancel: cancel.clone(),
            held: HeldResources::default(),
            fuel: None,
        };
        let link = match &recording {
            Some(recording) => recording.link(link),
            None => link,
        };
        let request = CallRequest { context, link, parent: None, journal: CallJournal::default() };
        let finished = match tool {
            FoundTool::Plugin(plugin, tool) => host.runner.call_tool(plugin, tool, value.clone().into(), request).await,
            FoundTool::Server(tool) => host.runner.call_upstream(tool, value.clone().into(), request).await,
        };
        terminal.clear();
        let code = match &finished.result {
            Ok(answer) => {
                if !self.json.is_set {
                    print(answer);
                }
                if answer.is_error { ExitCode::FAILURE } else { ExitCode::SUCCESS }
            }
            Err(error) => {
                let text = match (error, TerminalClient::lacks(finished.missing_abilities)) {
                    (CallError::Unsupported { .. }, Some(lacking)) => lacking,
                    _ => self.file.complete(error.for_operator()),
                };
                let code = error.code();
                let said = text.strip_prefix(code).and_then(|said| said.strip_prefix(": ")).unwrap_or(&text);
                eprintln!("error[{code}]: {}", printable_lines(said));
                match error {
                    CallError::Denied(_) => ExitCode::from(DENIED),
                    CallError::Cancelled if cancel.is_cancelled() => ExitCode::from(INTERRUPTED),
                    _ => ExitCode::FAILURE,
                }
            }
        };
        for denial in finished.refused_files.iter().filter(|_| finished.result.is_ok()) {
            let text = self.file.complete(denial.for_operator());
            let what = text.strip_prefix("denied: ").unwrap_or(&text);
            eprintln!("note: the tool was refused files, and may have answered without them: {}", printable(what));
        }
        let times = finished.usage.denials;
        if times > 0 && finished.refused_files.is_empty() && !matches!(finished.result, Err(CallError::Denied(_))) {
            eprintln!("note: the tool was refused something {times} times; `portcullis audit tail` says what");
        }
        eprintln!("{}", usage_line(&finished.usage));
        let recorded = match recording {
            Some(recording) => Some(tokio::select! {
                biased;
                () = cancel.cancelled() => Err(anyhow::anyhow!("interrupted; the call was not recorded")),
                recorded = recording.finish(&config, &called.tool, &value, &finished) => recorded,
            }),
            None => None,
        };
        if self.json.is_set {
            json::print(&mcp::finished_to_json(finished));
        }
        host.close().await;
        if let Some(told) = recorded.transpose()? {
            eprintln!("{}", printable_lines(&told));
        }
        Ok(code)
    }
}

/// The tool that is called.
struct CalledTool {
    /// The name of its plugin or server.
    owner: String,
    is_server: bool,
    /// Its own name.
    tool: String,
}

enum FoundTool {
    Plugin(Arc<Plugin>, Arc<PluginTool>),
    Server(Arc<UpstreamTool>),
}

impl FoundTool {
    fn described(&self) -> &Tool {
        match self {
            Self::Plugin(_, tool) => &tool.tool,
            Self::Server(tool) => &tool.tool.tool,
        }
    }
}

impl CalledTool {
    fn find(&self, catalog: &Catalog) -> anyhow::Result<FoundTool> {
        let Self { owner, tool: name, .. } = self;
        if self.is_server {
            if let Some((_, reason)) = catalog.missing_upstream(&format!("{owner}__{name}")) {
                bail!("the server `{owner}` is not connected: {}", printable(reason));
            }
            let tools = || catalog.upstream_tools().map(|(_, tool)| tool).filter(|tool| *tool.id.name == **owner);
            // Looks for the name that clients see, then for the server's own name.
            let shown = catalog.upstream_tool(&format!("{owner}__{name}"));
            let found = shown.or_else(|| tools().find(|tool| tool.tool.tool.name == *name)).cloned();
            let names = || tools().map(|tool| tool.tool.tool.name.as_str()).collect::<Vec<_>>();
            return Ok(FoundTool::Server(found.with_context(|| self.unknown(&names()))?));
        }
        let plugin = catalog.all_plugins().find(|plugin| *plugin.id().name == **owner);
        let plugin = plugin.with_context(|| {
            format!("`{owner}` cannot be called, since it cannot be loaded; the line above says why")
        })?;
        let names = || plugin.tools.iter().map(|tool| tool.tool.name.as_str()).collect::<Vec<_>>();
        let tool = plugin.tool(name).with_context(|| self.unknown(&names()))?;
        Ok(FoundTool::Plugin(plugin.clone(), tool.clone()))
    }

    fn unknown(&self, names: &[&str]) -> String {
        let shown = if self.tool.is_empty() { "which tool?".to_owned() } else { format!("no tool `{}`", self.tool) };
        format!("`{}`: {shown}; it has: {}", self.owner, printable(&names.join(", ")))
    }
}

impl Call {
    /// The tool, and the words that are its arguments.
    fn called(&self, config: &Config) -> anyhow::Result<(CalledTool, &[String])> {
        let specs = config.plugins.iter().chain(&config.agent).map(|spec| (spec.id.name.to_string(), false));
        let servers = config.upstreams.iter().map(|upstream| (upstream.name.clone(), true));
        let owners: Vec<_> = specs.chain(servers).collect();
        if let Some((owner, is_server)) = owners.iter().find(|(owner, _)| *owner == self.name) {
            let (tool, words) = self.rest.split_first().map_or(("", &[][..]), |(tool, words)| (tool, words));
            let (owner, tool, is_server) = (owner.clone(), tool.to_owned(), *is_server);
            return Ok((CalledTool { owner, is_server, tool }, words));
        }
        // Takes the longest name that fits, since one name may be the beginning of another.
        let own = |owner: &str| self.name.strip_prefix(owner)?.strip_prefix("__").map(str::to_owned);
        let found = owners.iter().filter(|(owner, _)| own(owner).is_some()).max_by_key(|(owner, _)| owner.len());
        let found = found.and_then(|(owner, is_server)| {
            Some(CalledTool { owner: owner.clone(), is_server: *is_server, tool: own(owner)? })
        });
        let found = found.with_context(|| {
            let names: Vec<_> = owners.iter().map(|(owner, _)| owner.as_str()).collect();
            let disabled = is_disabled(config, self.name.split("__").next().unwrap_or_default());
            let why = if disabled {
                "; it is installed, but disabled: `portcullis plugin enable` serves it again"
            } else {
                ""
            };
            format!("no plugin `{}`{why}; there are: {}", self.name, names.join(", "))
        })?;
        Ok((found, &self.rest))
    }
}

/// Whether an installed plugin of this name is disabled.
fn is_disabled(config: &Config, name: &str) -> bool {
    let lock = config.lockfile.as_deref().and_then(|path| Lockfile::load(path).ok());
    lock.is_some_and(|lock| lock.iter().any(|(id, entry)| *id.name == *name && !entry.enabled))
}

fn print(answer: &Answer) {
    for content in &answer.content {
        println!("{}", content_to_text(content));
    }
}
