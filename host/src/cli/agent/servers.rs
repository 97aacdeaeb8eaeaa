//! The agent's servers, addressed by what the user types.

use super::key_files::is_url;
use crate::config;
use agent::{CallOutcome, INBOX_URI, KeptCall, ServerSet, UnfinishedCall};
use platform::outbound::Endpoint;
use platform::telemetry::printable;
use policy::is_name;
use runtime::imports::{ResourceBody, Tool};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio_util::sync::CancellationToken;
use upstream::{ProtocolVersions, UpstreamCall, UpstreamError, UpstreamSettings};

pub(super) struct Servers {
    set: ServerSet,
    protocol: ProtocolVersions,
    browser: Vec<String>,
}

impl Servers {
    /// `browser` is the command that opens pages. Without one the user opens them.
    pub(super) fn new(set: ServerSet, protocol: ProtocolVersions, browser: Vec<String>) -> Self {
        Self { set, protocol, browser }
    }

    /// Connects a server by its URL, with the API key in a file, or by the command that starts it.
    pub(super) async fn connect(&self, name: &str, address: &str, key_file: Option<&str>) -> Result<(), String> {
        if !is_name(name, 32, "-_") {
            return Err(format!("a server's name must be 1 to 32 of A-Z a-z 0-9 - _, not {name:?}"));
        }
        let mut settings = UpstreamSettings::default();
        settings.protocol = self.protocol;
        settings.key_file = key_file.map(PathBuf::from);
        if is_url(address) {
            settings.url = Some(Endpoint::new(address).map_err(|error| error.to_string())?);
        } else {
            settings.command = split_command(address)?;
        }
        let settings =
            config::resolve_upstream(name, settings, Path::new("")).map_err(|error| format!("{name}: {error}"))?;
        self.open(settings).await
    }

    /// Connects a server of the configuration.
    pub(super) async fn open(&self, settings: UpstreamSettings) -> Result<(), String> {
        self.set.connect(settings).await.map_err(|error| error.to_string())
    }

    pub(super) async fn disconnect(&self, name: &str) {
        self.set.disconnect(name).await;
    }

    /// Closes all connections.
    pub(super) async fn close(&self) {
        for server in self.set.servers() {
            server.close().await;
        }
    }

    /// Name, address and connection state of each server.
    pub(super) fn names(&self) -> Vec<(String, String, String)> {
        let state = |server: &upstream::Upstream| match server.introduction() {
            Some((who, version)) if server.is_connected() => format!("connected: {who}, MCP {version}"),
            _ => "reconnecting".to_owned(),
        };
        let servers = self.set.servers();
        servers.iter().map(|server| (server.name().to_owned(), server.settings().address(), state(server))).collect()
    }

    /// Tools with the names of their servers.
    pub(super) fn tools(&self, of: Option<&str>) -> Vec<(String, Tool)> {
        let servers = self.set.servers().into_iter().filter(|server| of.is_none_or(|of| of == server.name()));
        let tools = servers.flat_map(|server| {
            let name = server.name().to_owned();
            let tools: Vec<Tool> = server.tools().iter().map(|tool| tool.tool.clone()).collect();
            tools.into_iter().map(move |tool| (name.clone(), tool))
        });
        tools.collect()
    }

    /// Resolves `[SERVER.]TOOL` to a server and a tool.
    pub(super) fn resolve(&self, text: &str) -> Result<(String, String), String> {
        if let Some((server, tool)) = text.split_once('.')
            && self.set.server(server).is_some()
        {
            return Ok((server.to_owned(), tool.to_owned()));
        }
        let mut found = self.tools(None).into_iter().filter(|(_, tool)| tool.name == text);
        match (found.next(), found.next()) {
            (Some((server, tool)), None) => Ok((server, tool.name)),
            (None, _) => {
                let all: Vec<_> =
                    self.tools(None).into_iter().map(|(server, tool)| format!("{server}.{}", tool.name)).collect();
                let whole = config::most_like(text, all.iter().map(String::as_str));
                let bare = || config::most_like(text, all.iter().filter_map(|name| Some(name.split_once('.')?.1)));
                Err(match whole.or_else(bare) {
                    Some(meant) => {
                        format!("no connected server has a tool {text:?}; did you mean `{}`?", printable(meant))
                    }
                    None => format!("no connected server has a tool {text:?}; see `list`"),
                })
            }
            (Some(_), Some(_)) => Err(format!("several servers have a tool {text:?}; write SERVER.{text}")),
        }
    }

    /// The schema of a tool's arguments; null if it is not listed.
    pub(super) fn schema(&self, text: &str) -> Result<Value, String> {
        let (server, name) = self.resolve(text)?;
        let tool = self.tools(Some(&server)).into_iter().find(|(_, tool)| tool.name == name);
        Ok(tool.and_then(|(_, tool)| serde_json::from_str(&tool.input_schema).ok()).unwrap_or_default())
    }

    /// The origin of a connected server's URL, or its program.
    pub(super) fn address(&self, server: &str) -> Option<String> {
        self.set.server(server).map(|server| server.settings().address())
    }

    /// Calls a tool, or continues a call that an earlier run began. An error comes as a sentence, with what the memory should
    /// keep of the call, since it may still run on the server.
    pub(super) async fn call(
        &self,
        open: UnfinishedCall,
        cancel: CancellationToken,
    ) -> Result<CallOutcome, (String, KeptCall)> {
        let UnfinishedCall { correlation_id, server, tool, arguments, point, .. } = open;
        let missing = || (format!("the server {server} is not connected"), KeptCall::IfOpen);
        let upstream = self.set.server(&server).ok_or_else(missing)?;
        let mut call = UpstreamCall::new(tool, arguments.unwrap_or_default()).with_task(&*correlation_id);
        call.correlation = Some(correlation_id);
        (call.may_become_task, call.resumes, call.cancel) = (true, point, cancel);
        let called = upstream.call(call).await.map_err(|error| match &error {
            UpstreamError::Cancelled => ("cancelled".to_owned(), KeptCall::Nothing),
            UpstreamError::Lost { .. } | UpstreamError::Unreachable { .. } => (error.to_string(), KeptCall::Call),
            UpstreamError::NotConnected { .. } | UpstreamError::Busy { .. } => (error.to_string(), KeptCall::IfOpen),
            _ => (error.to_string(), KeptCall::Nothing),
        })?;
        let structured = called.structured.map(|value| value.to_string());
        Ok(CallOutcome { content: called.content, structured, is_error: called.is_error })
    }

    /// Sends a message to a call, by the server's ID for it.
    pub(super) async fn steer(&self, server: &str, name: Option<&str>, message: &str) -> Result<(), String> {
        let upstream = self.set.server(server).ok_or_else(|| format!("the server {server} is not connected"))?;
        upstream.steer(name, message).await.map_err(|error| error.to_string())
    }

    /// Subscribes to a server's inbox.
    pub(super) async fn watch_inbox(&self, server: &str) -> Result<(), String> {
        let upstream = self.set.server(server).ok_or_else(|| format!("the server {server} is not connected"))?;
        upstream.watch(INBOX_URI).await.map_err(|error| error.to_string())
    }

    /// Reads the JSON of a server's inbox, after the event with this ID.
    pub(super) async fn inbox(&self, server: &str, after: Option<&str>) -> Result<String, String> {
        let upstream = self.set.server(server).ok_or_else(|| format!("the server {server} is not connected"))?;
        let mut uri = INBOX_URI.to_owned();
        if let Some(after) = after {
            let query: String =
                url::form_urlencoded::Serializer::new(String::new()).append_pair("after", after).finish();
            uri = format!("{uri}?{query}");
        }
        let read = upstream.read(&uri).await.map_err(|error| error.to_string())?;
        let text = read.into_iter().find_map(|piece| match piece.body {
            ResourceBody::Text(text) => Some(text),
            ResourceBody::Blob(_) => None,
        });
        text.ok_or_else(|| "the inbox is not text".into())
    }

    /// Opens a page in the browser. Returns whether a browser is configured.
    pub(super) fn browse(&self, url: &str) -> Result<bool, String> {
        let Some((program, arguments)) = self.browser.split_first() else { return Ok(false) };
        let mut command = tokio::process::Command::new(program);
        command.args(arguments).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("cannot start the browser {program}: {error}"))?;
        tokio::spawn(async move { child.wait().await });
        Ok(true)
    }
}

/// Splits a command line into arguments at whitespace. Only quotes are special.
pub(super) fn split_command(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(format!("a quote is not closed in {:?}", printable(text)));
    }
    words.extend(word);
    if words.is_empty() {
        return Err("the command is empty: write NAME=URL, or NAME='PROGRAM ARGUMENT'".into());
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::split_command;

    #[test]
    fn commands_are_split_at_whitespace() {
        assert_eq!(split_command(" a  'b c' d\"e\"f ''").unwrap(), ["a", "b c", "def", ""]);
        assert!(split_command("a 'b").is_err() && split_command("  ").is_err());
    }
}
