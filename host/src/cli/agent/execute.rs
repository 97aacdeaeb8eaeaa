//! Carries out commands.

use super::command::{AgentCommand, ApprovalScope, COMMANDS, object};
use super::pages::pages;
use super::render;
use super::screen::{inline, quoted};
use super::session::AgentSession;
use crate::cli::forms;
use crate::config;
use agent::{ApprovalDecision, ApprovalRequest, Memory};
use serde_json::{Value, json};
use std::sync::Arc;

/// Asks the user for input while a command runs.
pub(super) trait Dialog {
    /// Reads a line; none at the end of input.
    fn line(&mut self, prompt: &str) -> Option<String>;
    /// Lets the user edit a text in an editor. The error is a sentence.
    fn edit(&mut self, text: &str) -> Result<String, String>;
}

/// No dialog, for scripts.
pub(super) struct NoDialog;

impl Dialog for NoDialog {
    fn line(&mut self, _prompt: &str) -> Option<String> {
        None
    }

    fn edit(&mut self, _text: &str) -> Result<String, String> {
        Err("there is no terminal to edit in; give the new text after the command".into())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandFlow {
    Continue,
    Quit,
}

impl AgentSession {
    /// Carries out one command. With `wait_for_calls` the command `call` waits for its result.
    pub(super) async fn execute(
        self: &Arc<Self>,
        command: AgentCommand,
        dialog: &mut dyn Dialog,
        wait_for_calls: bool,
    ) -> Result<CommandFlow, String> {
        match command {
            AgentCommand::List => self.list(None, false)?,
            AgentCommand::Tools(of) => self.list(of.as_deref(), true)?,
            AgentCommand::Call { tool, arguments, wait } => {
                let arguments = arguments.for_schema(&self.servers.schema(&tool)?);
                let call = self.start(&tool, arguments)?;
                if wait && wait_for_calls {
                    self.wait(Some(call)).await;
                }
            }
            AgentCommand::Wait(call) => self.wait(call).await,
            AgentCommand::Calls => self.show_calls(),
            AgentCommand::Resume => self.resume().await?,
            AgentCommand::Watch(call) => self.watch(call)?,
            AgentCommand::Show(call) => self.show_result(call, dialog)?,
            AgentCommand::Waiting => self.show_waiting(),
            AgentCommand::Approve(id, how) => self.approve(id, how)?,
            AgentCommand::Decide(id, yes) => {
                // Without a number, the command must not decide a request that came while the user typed.
                let waiting = self.approvals.pending_requests().len();
                if id.is_none() && waiting > 1 {
                    return Err(format!("{waiting} requests wait: say which; `waiting` lists them"));
                }
                match yes {
                    true => self.approve(id, ApprovalScope::Once)?,
                    false => drop(self.decide(id, ApprovalDecision::Deny("the user said no".to_owned()))?),
                }
            }
            AgentCommand::Deny(id, reason) => {
                let reason = if reason.is_empty() { "the user said no".to_owned() } else { reason };
                self.decide(id, ApprovalDecision::Deny(reason))?;
            }
            AgentCommand::Edit(id, text) => self.edit(id, text, dialog)?,
            AgentCommand::Answer(id, text) => self.answer(id, &text, dialog)?,
            AgentCommand::Cancel(call) => self.cancel(call)?,
            AgentCommand::Steer(call, message) => {
                let call = self.steer(call, &message).await?;
                self.screen.show(&json!({ "event": "steered", "call": call }), &format!("sent to call {call}"));
            }
            AgentCommand::Servers => self.show_servers(),
            AgentCommand::Connect(address, key_file) => self.connect(&address, key_file).await?,
            AgentCommand::Forget(what) => self.forget(&what).await?,
            AgentCommand::Repeat(call) => self.repeat(&call)?,
            AgentCommand::Events(server) => self.events(server.as_deref()).await?,
            AgentCommand::When(step) => self.add_script_step(&step).await?,
            AgentCommand::Say(text) => self.approvals.transcript().push_user_text(&text),
            AgentCommand::History => {
                let lines = self.history();
                self.screen.show(&json!({ "event": "history", "lines": lines }), &lines.join("\n"));
            }
            AgentCommand::Help => {
                let lines: Vec<String> = COMMANDS
                    .iter()
                    .map(|(name, what, does)| format!("{:<30} {does}", format!("{name} {what}")))
                    .collect();
                self.screen.show(&json!({ "event": "help", "lines": lines }), &lines.join("\n"));
            }
            AgentCommand::Quit => return Ok(CommandFlow::Quit),
        }
        Ok(CommandFlow::Continue)
    }

    /// Lists all tools, those of a server, or those whose names contain a word.
    fn list(&self, of: Option<&str>, whole: bool) -> Result<(), String> {
        let names = self.servers.names();
        let server = of.filter(|of| names.iter().any(|(name, ..)| name == of));
        let mut tools = self.servers.tools(server);
        if let (Some(word), None) = (of, server) {
            tools.retain(|(_, tool)| tool.name.contains(word));
            if tools.is_empty() {
                let unknown = unknown_server(word, names.iter().map(|(name, ..)| name));
                return Err(format!("no tool has {word:?} in its name, and {unknown}"));
            }
        }
        if names.is_empty() {
            self.screen.show(&json!({ "event": "tools", "tools": [] }), "nothing; connect a server first");
            return Ok(());
        }
        let count = if tools.len() == 1 { "1 tool".to_owned() } else { format!("{} tools", tools.len()) };
        let mut lines = vec![match (of, server) {
            (_, Some(server)) => format!("{count} of {server}"),
            (Some(word), None) => format!("{count} with {:?} in the name", inline(word)),
            (None, None) => count,
        }];
        let mut all = Vec::new();
        for (server, tool) in tools {
            all.push(json!({ "server": server, "name": tool.name, "description": tool.description,
                             "readOnly": tool.annotations.read_only }));
            lines.push(format!("{server}.{}", inline(&tool.name)));
            if whole {
                lines.push(quoted(&tool.description));
                lines.push(quoted(&arguments_line(&tool.input_schema)));
            }
        }
        self.screen.show(&json!({ "event": "tools", "tools": all }), &lines.join("\n"));
        Ok(())
    }

    /// Shows a whole result. At a terminal the user turns the pages.
    fn show_result(&self, call: u64, dialog: &mut dyn Dialog) -> Result<(), String> {
        let text = self.result(call).ok_or_else(|| {
            format!("there is no result of call {call}; the newest are kept, and `calls` lists the calls")
        })?;
        let pages = pages(&text, self.screen.size());
        for (at, page) in pages.iter().enumerate() {
            self.screen.show(&json!({ "event": "result", "call": call, "text": text }), page);
            self.screen.flush();
            let is_last = at + 1 == pages.len();
            if is_last
                || dialog.line(&format!("  page {} of {}; Enter: next, q: stop ", at + 1, pages.len()))
                    != Some(String::new())
            {
                break;
            }
        }
        Ok(())
    }

    fn show_waiting(&self) {
        let waiting = self.approvals.pending_requests();
        if waiting.is_empty() {
            self.screen.show(&json!({ "event": "nothing-pending" }), "nothing");
        }
        for (id, request) in waiting {
            let (json, text) = render::approval_request(&self.screen, (id, self.approvals.call_of(&request)), &request);
            self.screen.show(&json, &text);
        }
    }

    fn decide(&self, id: Option<u64>, decision: ApprovalDecision) -> Result<Arc<ApprovalRequest>, String> {
        // The number is resolved first, since requests may come and go meanwhile.
        let (id, _) = self.pending_request(id)?;
        self.approvals.decide(Some(id), decision).map(|(_, request)| request).map_err(|error| error.to_string())
    }

    fn approve(&self, id: Option<u64>, how: ApprovalScope) -> Result<(), String> {
        let decision = match how {
            ApprovalScope::Once => ApprovalDecision::Allow,
            ApprovalScope::Task => ApprovalDecision::AllowForTask,
            ApprovalScope::Always => ApprovalDecision::AllowAlways,
        };
        let request = self.decide(id, decision)?;
        if let ApprovalRequest::Page { address, .. } = &*request {
            let url = format!("{}{}{}", address.before, address.host, address.after);
            let opened = self.servers.browse(&url)?;
            let text = if opened { "opened" } else { "open it in a browser you trust" };
            self.screen.show(&json!({ "event": "page", "url": url, "opened": opened }), &format!("{text}: {url}"));
        }
        Ok(())
    }

    fn edit(&self, id: Option<u64>, text: String, dialog: &mut dyn Dialog) -> Result<(), String> {
        let (id, request) = self.pending_request(id)?;
        let old = match &*request {
            ApprovalRequest::ReverseCall { request, .. } => {
                serde_json::to_string_pretty(&request.arguments).unwrap_or_default()
            }
            ApprovalRequest::Prompt { request, .. } => render::last_message(request),
            ApprovalRequest::ModelAnswer { answer, .. } => render::answer_text(answer),
            _ => return Err("that cannot be edited; see `waiting`".into()),
        };
        let new = if text.is_empty() { dialog.edit(&old)? } else { text };
        let decision = match &*request {
            ApprovalRequest::ReverseCall { .. } => ApprovalDecision::WithValues(object(&new)?),
            _ => ApprovalDecision::WithText(new),
        };
        self.decide(Some(id), decision).map(|_| ())
    }

    fn answer(&self, id: Option<u64>, text: &str, dialog: &mut dyn Dialog) -> Result<(), String> {
        let (id, request) = self.pending_request(id)?;
        let decision = match &*request {
            ApprovalRequest::Form { message, schema, .. } if text.is_empty() && schema.has_fields() => {
                let schema: Value = serde_json::from_str(schema.text()).unwrap_or_default();
                let server = inline(request.server());
                let json = json!({ "event": "form", "approval": id, "message": message });
                self.screen.show(&json, &format!("{server} asks\n{}\n  {}", quoted(message), forms::HINT));
                // The field names come from the server, so they follow its name.
                let mut line = |prompt: &str| dialog.line(&format!("  {server} │ {}", prompt.trim_start()));
                forms::fill_form(&schema, &mut line).map_or(ApprovalDecision::Cancel, ApprovalDecision::WithValues)
            }
            ApprovalRequest::Form { .. } if !text.is_empty() => ApprovalDecision::WithValues(object(text)?),
            ApprovalRequest::Form { .. } => return Err("it asks for a yes: approve N, or deny N".into()),
            _ if text.is_empty() => {
                ApprovalDecision::WithText(dialog.line("  your answer: ").ok_or("there is no answer")?)
            }
            _ => ApprovalDecision::WithText(text.to_owned()),
        };
        self.decide(Some(id), decision).map(|_| ())
    }

    fn show_servers(&self) {
        let (mut all, mut lines) = (Vec::new(), Vec::new());
        let connected = self.servers.names();
        for (name, address, state) in &connected {
            all.push(json!({ "server": name, "address": address, "state": state }));
            lines.push(format!("{name}: {} ({state})", inline(address)));
        }
        for (name, address) in self.approvals.memory().get().servers {
            if !connected.iter().any(|(other, ..)| *other == name) {
                all.push(json!({ "server": name, "address": address, "state": "known" }));
                lines.push(format!("{}: {} (known, not connected)", inline(&name), inline(&address)));
            }
        }
        let approvals = self.approvals.memory().get().approvals;
        for approved in &approvals {
            lines.push(format!("{} may always call {}", inline(&approved.server), inline(&approved.tool)));
        }
        if lines.is_empty() {
            lines.push("none; connect NAME=URL, or connect NAME=COMMAND".into());
        }
        self.screen.show(&json!({ "event": "servers", "servers": all, "approvals": approvals }), &lines.join("\n"));
    }

    /// Connects `NAME=ADDRESS` or a known name. Without `key_file`, a known server keeps the API key file that it had.
    pub(super) async fn connect(self: &Arc<Self>, text: &str, key_file: Option<String>) -> Result<(), String> {
        let Memory { servers: known, key_files, .. } = self.approvals.memory().get();
        let (name, address) = match text.split_once('=') {
            Some((name, address)) => (name.trim().to_owned(), address.trim().to_owned()),
            None => match known.get(text) {
                Some(address) => (text.to_owned(), address.clone()),
                None => return Err(unknown_server(text, known.keys())),
            },
        };
        // Approvals and the key belong to the address, so they are dropped when it changes.
        let moved = known.get(&name).is_some_and(|old| *old != address);
        let key_file = key_file.or_else(|| key_files.get(&name).filter(|_| !moved).cloned());
        self.servers.connect(&name, &address, key_file.as_deref()).await?;
        let remembered = self.approvals.memory().change(|memory| {
            if moved {
                memory.forget(&name);
            }
            memory.servers.insert(name.clone(), address);
            if let Some(file) = key_file {
                memory.key_files.insert(name.clone(), file);
            }
        });
        if let Err(error) = remembered {
            tracing::warn!("{error}");
        }
        self.connected(&name).await;
        Ok(())
    }

    /// Reports a connected server and follows its events.
    pub(super) async fn connected(self: &Arc<Self>, name: &str) {
        let tools = self.servers.tools(Some(name)).len();
        let json = json!({ "event": "connected", "server": name, "tools": tools });
        self.screen.show(&json, &format!("{name}: connected, {tools} tools"));
        self.follow_inbox(name).await;
    }

    async fn events(&self, server: Option<&str>) -> Result<(), String> {
        for (name, ..) in self.servers.names() {
            if server.is_some_and(|server| server != name) {
                continue;
            }
            let inbox = self.servers.inbox(&name, None).await?;
            let json: Value = serde_json::from_str(&inbox).unwrap_or_default();
            let shown = json!({ "event": "inbox", "server": name, "inbox": json });
            self.screen.show(
                &shown,
                &format!("the inbox of {name}\n{}", quoted(&serde_json::to_string_pretty(&json).unwrap_or_default())),
            );
        }
        Ok(())
    }
}

/// The arguments with their types. Optional ones have a question mark.
fn arguments_line(schema: &str) -> String {
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let arguments = schema["properties"].as_object().into_iter().flatten().map(|(name, property)| {
        let mark = if required.iter().any(|it| it == name) { "" } else { "?" };
        format!("{}{mark}: {}", inline(name), inline(property["type"].as_str().unwrap_or("any")))
    });
    format!("{{ {} }}", arguments.collect::<Vec<_>>().join(", "))
}

fn unknown_server<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> String {
    match config::most_like(name, known.map(String::as_str)) {
        Some(meant) => format!("no server {name:?} is known; did you mean `{}`?", inline(meant)),
        None => format!("no server {name:?} is known; write connect NAME=URL or NAME=COMMAND"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_may_be_left_out_are_marked() {
        let schema =
            r#"{"properties":{"city":{"type":"string"},"days":{"type":"integer"},"when":{}},"required":["city"]}"#;
        assert_eq!(arguments_line(schema), "{ city: string, days?: integer, when?: any }");
        assert_eq!(arguments_line("not JSON"), "{  }");
    }
}
