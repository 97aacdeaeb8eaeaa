//! Does what a line says.

use super::super::forms;
use super::command::{COMMANDS, Command, How, object};
use super::screen::{quoted, word};
use super::session::Session;
use super::words;
use agent::{Matter, Ruling};
use serde_json::{Value, json};
use std::sync::Arc;

/// Who can be asked for lines while a command is carried out.
pub(super) trait Dialog {
    /// A line; nothing at the end of input.
    fn line(&mut self, prompt: &str) -> Option<String>;
    /// A text changed by the user in an editor; the error is a sentence.
    fn edit(&mut self, text: &str) -> Result<String, String>;
}

/// Nobody: for scripts.
pub(super) struct NoDialog;

impl Dialog for NoDialog {
    fn line(&mut self, _prompt: &str) -> Option<String> {
        None
    }

    fn edit(&mut self, _text: &str) -> Result<String, String> {
        Err("there is no terminal to edit in; give the new text behind the command".into())
    }
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    On,
    Quit,
}

impl Session {
    /// Carries out one command. Whether `call` waits for the result is up to whoever reads the lines.
    pub(super) async fn execute(
        self: &Arc<Self>,
        command: Command,
        dialog: &mut dyn Dialog,
        waits: bool,
    ) -> Result<Flow, String> {
        match command {
            Command::List => self.list(None, false),
            Command::Tools(server) => self.list(server.as_deref(), true),
            Command::Call { tool, arguments, wait } => {
                let call = self.start(&tool, arguments)?;
                if wait && waits {
                    self.wait(Some(call)).await;
                }
            }
            Command::Wait(call) => self.wait(call).await,
            Command::Calls => self.show_calls(),
            Command::Watch(call) => self.watch(call)?,
            Command::Waiting => self.show_waiting(),
            Command::Approve(id, how) => self.approve(id, how)?,
            Command::Deny(id, reason) => {
                let reason = if reason.is_empty() { "the user said no".to_owned() } else { reason };
                self.rule(id, Ruling::Deny(reason))?;
            }
            Command::Edit(id, text) => self.edit(id, text, dialog)?,
            Command::Answer(id, text) => self.answer(id, &text, dialog)?,
            Command::Cancel(call) => self.cancel(call)?,
            Command::Steer(call, message) => {
                let call = self.steer(call, &message).await?;
                self.screen.show(&json!({ "event": "steered", "call": call }), &format!("said to call {call}"));
            }
            Command::Servers => self.show_servers(),
            Command::Connect(address) => self.connect(&address).await?,
            Command::Forget(what) => self.forget(&what).await?,
            Command::Repeat(call) => self.repeat(&call)?,
            Command::Events(server) => self.events(server.as_deref()).await?,
            Command::When(step) => self.when(&step).await?,
            Command::Say(text) => self.desk.transcript().said(&text),
            Command::History => {
                let lines = self.history();
                self.screen.show(&json!({ "event": "history", "lines": lines }), &lines.join("\n"));
            }
            Command::Help => {
                let lines: Vec<String> = COMMANDS
                    .iter()
                    .map(|(name, what, does)| format!("{:<30} {does}", format!("{name} {what}")))
                    .collect();
                self.screen.show(&json!({ "event": "help", "lines": lines }), &lines.join("\n"));
            }
            Command::Quit => return Ok(Flow::Quit),
        }
        Ok(Flow::On)
    }

    fn list(&self, server: Option<&str>, whole: bool) {
        let mut lines = Vec::new();
        let mut all = Vec::new();
        for (server, tool) in self.links.tools(server) {
            all.push(json!({ "server": server, "name": tool.name, "description": tool.description,
                             "readOnly": tool.annotations.read_only }));
            lines.push(format!("{server}.{}", word(&tool.name)));
            if whole {
                lines.push(quoted(&tool.description));
                let schema: Value = serde_json::from_str(&tool.input_schema).unwrap_or_default();
                let arguments = schema["properties"].as_object().cloned().unwrap_or_default();
                let kinds = arguments.iter().map(|(name, property)| {
                    format!("{}: {}", word(name), word(property["type"].as_str().unwrap_or("any")))
                });
                lines.push(quoted(&format!("{{ {} }}", kinds.collect::<Vec<_>>().join(", "))));
            }
        }
        if lines.is_empty() {
            lines.push("nothing; connect a server first".into());
        }
        self.screen.show(&json!({ "event": "tools", "tools": all }), &lines.join("\n"));
    }

    fn show_calls(&self) {
        let (mut all, mut lines) = (Vec::new(), Vec::new());
        for (id, call) in self.calls().iter() {
            let state = match call.ended {
                None => "runs",
                Some(false) => "is done",
                Some(true) => "failed",
            };
            all.push(
                json!({ "call": id, "server": call.server, "tool": call.tool, "state": state, "task": call.task }),
            );
            lines.push(format!("{id}: {}.{} {state}", call.server, word(&call.tool)));
        }
        for open in self.desk.memory().now().left_behind() {
            let short = open.correlation_id.get(..8).unwrap_or(&open.correlation_id);
            all.push(json!({ "open": short, "server": open.server, "tool": open.tool, "state": "left open",
                             "arguments": open.arguments, "name": open.call }));
            let arguments = open.arguments.as_ref().map(|arguments| Value::Object(arguments.clone()).to_string());
            let arguments = arguments.map_or_else(|| "(arguments too long to be kept)".into(), |text| word(&text));
            lines.push(format!(
                "{short}: {}.{} {arguments} was left open by an earlier run; repeat {short} | forget {short}",
                word(&open.server),
                word(&open.tool)
            ));
        }
        if lines.is_empty() {
            lines.push("none".into());
        }
        self.screen.show(&json!({ "event": "calls", "calls": all }), &lines.join("\n"));
    }

    fn show_waiting(&self) {
        let waiting = self.desk.waiting();
        if waiting.is_empty() {
            self.screen.show(&json!({ "event": "nothing-waits" }), "nothing");
        }
        for (id, matter) in waiting {
            let (json, text) = words::matter(&self.screen, id, &matter);
            self.screen.show(&json, &text);
        }
    }

    fn rule(&self, id: Option<u64>, ruling: Ruling) -> Result<Arc<Matter>, String> {
        // Which one is meant is fixed before anything is decided: a matter may come or go meanwhile.
        let (id, _) = self.matter(id)?;
        self.desk.rule(Some(id), ruling).map(|(_, matter)| matter).map_err(|error| error.to_string())
    }

    fn approve(&self, id: Option<u64>, how: How) -> Result<(), String> {
        let ruling = match how {
            How::Once => Ruling::Allow,
            How::Task => Ruling::ThisTask,
            How::Always => Ruling::Always,
        };
        let matter = self.rule(id, ruling)?;
        if let Matter::Page { address, .. } = &*matter {
            let url = format!("{}{}{}", address.before, address.host, address.after);
            let opened = self.links.browse(&url)?;
            let text = if opened { "opened" } else { "open it in a browser you trust" };
            self.screen.show(&json!({ "event": "page", "url": url, "opened": opened }), &format!("{text}: {url}"));
        }
        Ok(())
    }

    fn edit(&self, id: Option<u64>, text: String, dialog: &mut dyn Dialog) -> Result<(), String> {
        let (id, matter) = self.matter(id)?;
        let old = match &*matter {
            Matter::Call { request, .. } => serde_json::to_string_pretty(&request.arguments).unwrap_or_default(),
            Matter::Prompt { request, .. } => words::last(request),
            Matter::Answered { answer, .. } => words::said(answer),
            _ => return Err("that cannot be edited; see `waiting`".into()),
        };
        let new = if text.is_empty() { dialog.edit(&old)? } else { text };
        let ruling = match &*matter {
            Matter::Call { .. } => Ruling::Fill(object(&new)?),
            _ => Ruling::Text(new),
        };
        self.rule(Some(id), ruling).map(|_| ())
    }

    fn answer(&self, id: Option<u64>, text: &str, dialog: &mut dyn Dialog) -> Result<(), String> {
        let (id, matter) = self.matter(id)?;
        let ruling = match &*matter {
            Matter::Form { message, schema, .. } if text.is_empty() => {
                let schema: Value = serde_json::from_str(schema.text()).unwrap_or_default();
                let server = word(matter.server());
                self.screen.show(&json!({}), &format!("{server} asks\n{}\n  {}", quoted(message), forms::HINT));
                // The fields' names are the server's: they stand behind its name.
                let mut line = |prompt: &str| dialog.line(&format!("  {server} │ {}", prompt.trim_start()));
                forms::fill(&schema, &mut line).map_or(Ruling::Cancel, Ruling::Fill)
            }
            Matter::Form { .. } => Ruling::Fill(object(text)?),
            _ if text.is_empty() => Ruling::Text(dialog.line("  your answer: ").ok_or("there is no answer")?),
            _ => Ruling::Text(text.to_owned()),
        };
        self.rule(Some(id), ruling).map(|_| ())
    }

    fn show_servers(&self) {
        let (mut all, mut lines) = (Vec::new(), Vec::new());
        let connected = self.links.names();
        for (name, place, state) in &connected {
            all.push(json!({ "server": name, "place": place, "state": state }));
            lines.push(format!("{name}: {} ({state})", word(place)));
        }
        for (name, address) in self.desk.memory().now().servers {
            if !connected.iter().any(|(other, ..)| *other == name) {
                all.push(json!({ "server": name, "place": address, "state": "known" }));
                lines.push(format!("{}: {} (known, not connected)", word(&name), word(&address)));
            }
        }
        for approved in self.desk.memory().now().approvals {
            all.push(json!({ "server": approved.server, "always": approved.tool }));
            lines.push(format!("{} may always call {}", word(&approved.server), word(&approved.tool)));
        }
        if lines.is_empty() {
            lines.push("none; connect NAME=URL, or connect NAME=COMMAND".into());
        }
        self.screen.show(&json!({ "event": "servers", "servers": all }), &lines.join("\n"));
    }

    /// Connects `NAME=ADDRESS`, or a known name.
    pub(super) async fn connect(self: &Arc<Self>, text: &str) -> Result<(), String> {
        let known = self.desk.memory().now().servers;
        let (name, address) = match text.split_once('=') {
            Some((name, address)) => (name.trim().to_owned(), address.trim().to_owned()),
            None => match known.get(text) {
                Some(address) => (text.to_owned(), address.clone()),
                None => return Err(format!("no server {text:?} is known; write connect NAME=URL or NAME=COMMAND")),
            },
        };
        // What was allowed was allowed to the server behind the name.
        let moved = known.get(&name).is_some_and(|old| *old != address);
        self.links.connect(&name, &address).await?;
        let remembered = self.desk.memory().change(|memory| {
            if moved {
                memory.forget(&name);
            }
            memory.servers.insert(name.clone(), address)
        });
        if let Err(error) = remembered {
            tracing::warn!("{error}");
        }
        self.connected(&name).await;
        Ok(())
    }

    /// A server is connected: that is said, and its events are followed.
    pub(super) async fn connected(self: &Arc<Self>, name: &str) {
        let tools = self.links.tools(Some(name)).len();
        let json = json!({ "event": "connected", "server": name, "tools": tools });
        self.screen.show(&json, &format!("{name}: connected, {tools} tools"));
        self.follow(name).await;
    }

    async fn forget(&self, what: &str) -> Result<(), String> {
        let memory = self.desk.memory();
        let now = memory.now();
        if now.servers.contains_key(what) || now.approvals.iter().any(|one| one.server == what) {
            self.links.disconnect(what).await;
            memory.change(|memory| memory.forget(what)).map_err(|error| error.to_string())?;
        } else {
            let open = self.left_open(what)?;
            memory.change(|memory| memory.ended(&open.correlation_id)).map_err(|error| error.to_string())?;
        }
        self.screen.show(&json!({ "event": "forgotten", "what": what }), &format!("{} is forgotten", word(what)));
        Ok(())
    }

    fn left_open(&self, short: &str) -> Result<agent::OpenCall, String> {
        let open = self.desk.memory().now().left_behind();
        let mut fits = open.into_iter().filter(|call| short.len() >= 4 && call.correlation_id.starts_with(short));
        match (fits.next(), fits.next()) {
            (Some(call), None) => Ok(call),
            _ => Err(format!("neither a server nor a call left open is known as {short:?}; see `servers` and `calls`")),
        }
    }

    fn repeat(self: &Arc<Self>, short: &str) -> Result<(), String> {
        let open = self.left_open(short)?;
        let arguments = open.arguments.ok_or("its arguments were too long to be kept; call it anew")?;
        self.start(&format!("{}.{}", open.server, open.tool), arguments)?;
        self.desk.memory().change(|memory| memory.ended(&open.correlation_id)).map_err(|error| error.to_string())
    }

    async fn events(&self, server: Option<&str>) -> Result<(), String> {
        for (name, ..) in self.links.names() {
            if server.is_some_and(|server| server != name) {
                continue;
            }
            let inbox = self.links.inbox(&name, None).await?;
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
