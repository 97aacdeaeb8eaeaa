//! Where what servers want meets whoever decides: rules first, then what the user has decided before, then the user.
//!
//! A matter that needs a person waits here under a number until somebody rules on it, or until the server no longer waits.
//! Whoever shows things to the person listens to [`Notice`]s; nothing here prints.

mod asked;
mod matter;
mod pile;

pub use matter::{Matter, Ruling, RulingError};

use super::memory::MemoryFile;
use super::rules::{Approval, Ruled, Rules};
use super::view::Transcript;
use super::{Happened, OpenCall};
use async_trait::async_trait;
use pile::Pile;
use runtime::imports::{Abilities, Asked, Content, ModelProvider, Reply, Root, ToolCaller};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::mpsc;
use upstream::{Asker, Face, Heard, ToolRequest, Verdict};

/// Notices that wait to be shown. Bounds what servers that talk without end make the agent hold; what is beyond is dropped
/// and counted, except what a person must know.
const MAX_NOTICES: usize = 1_024;

/// What there is to show.
#[derive(Debug, Clone)]
pub enum Notice {
    /// A running call said something.
    Heard {
        /// Its number.
        call: u64,
        /// What.
        heard: Heard,
    },
    /// A call ended.
    Ended {
        /// Its number.
        call: u64,
        /// How.
        outcome: Outcome,
    },
    /// Something that a server offers has changed.
    Changed {
        /// Which server.
        server: String,
        /// A URI, or the kind of list.
        what: String,
    },
    /// Somebody must rule on this.
    Waiting(u64, Arc<Matter>),
    /// Nobody waits for that any more.
    Withdrawn(u64),
    /// It was decided without asking, or by the user; what about and how.
    Decided {
        /// Which server wanted it.
        server: String,
        /// What it wanted.
        about: String,
        /// What was decided.
        verdict: String,
        /// The rule, or who.
        by: String,
    },
}

/// How a call of the agent's ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The result's, or a sentence of ours.
    pub content: Vec<Content>,
    /// JSON text.
    pub structured: Option<String>,
    /// Whether it failed.
    pub is_error: bool,
}

/// Decides and answers on the agent's side.
pub struct Desk {
    rules: Rules,
    memory: Arc<MemoryFile>,
    person: bool,
    model: Option<Arc<dyn ModelProvider>>,
    roots: Vec<Root>,
    tools: OnceLock<Arc<dyn ToolCaller>>,
    transcript: Arc<Transcript>,
    pile: Mutex<Pile>,
    calls: Mutex<HashMap<String, u64>>,
    notices: mpsc::Sender<Notice>,
}

/// What a desk is made of.
pub struct DeskParts {
    /// What is decided without a person.
    pub rules: Rules,
    /// What the user has decided before.
    pub memory: Arc<MemoryFile>,
    /// Whether there is a person at all.
    pub person: bool,
    /// Who answers requests to a model; none: the person.
    pub model: Option<Arc<dyn ModelProvider>>,
    /// What servers may know of.
    pub roots: Vec<Root>,
}

impl Desk {
    /// A desk, and what it has to tell.
    pub fn new(parts: DeskParts) -> (Arc<Self>, mpsc::Receiver<Notice>) {
        let (notices, told) = mpsc::channel(MAX_NOTICES);
        let DeskParts { rules, memory, person, model, roots } = parts;
        let desk = Self {
            rules,
            memory,
            person,
            model,
            roots,
            tools: OnceLock::new(),
            transcript: Arc::default(),
            pile: Mutex::default(),
            calls: Mutex::default(),
            notices,
        };
        (Arc::new(desk), told)
    }

    /// The tools that servers may be offered, whose schemas edited arguments must match. Said once.
    pub fn offer(&self, tools: Arc<dyn ToolCaller>) {
        let _ = self.tools.set(tools);
    }

    /// The rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// What is remembered.
    pub fn memory(&self) -> &Arc<MemoryFile> {
        &self.memory
    }

    /// What a model is to know.
    pub fn transcript(&self) -> &Arc<Transcript> {
        &self.transcript
    }

    /// A call of the agent's begins: what is heard of its task is said to be of this number.
    pub fn began(&self, call: u64, open: OpenCall) {
        let tool = format!("{}.{}", open.server, open.tool);
        let arguments = serde_json::to_string(&open.arguments).unwrap_or_default();
        self.transcript.started(call, self.rules.chunks(&open.server), &tool, &arguments);
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(open.correlation_id.clone(), call);
        self.remember(|memory| memory.calls.push(open));
    }

    /// It has ended: nothing is heard of it any more, and it is told after everything that was. One that is `kept` is
    /// still in the memory, for whoever wants to repeat it.
    pub async fn ended(&self, task: &str, outcome: Outcome, kept: bool) {
        let Some(call) = self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(task) else { return };
        self.remember(|memory| match memory.call(task) {
            // Nobody runs it any more.
            Some(open) if kept => open.process = 0,
            _ => memory.ended(task),
        });
        self.transcript.ended(call, &outcome.content, outcome.is_error);
        let _ = self.notices.send(Notice::Ended { call, outcome }).await;
    }

    /// What waits for a ruling, the oldest first.
    pub fn waiting(&self) -> Vec<(u64, Arc<Matter>)> {
        self.pile().all()
    }

    /// Rules on a matter; without a number on the oldest.
    pub fn rule(&self, id: Option<u64>, ruling: Ruling) -> Result<(u64, Arc<Matter>), RulingError> {
        self.pile().rule(id, ruling)
    }

    /// Whether an event may start what the user has planned for it.
    pub async fn consents(&self, server: &str, happened: &Happened) -> bool {
        let about = format!("event {}", happened.event.name);
        let ruled = self.rules.reaction(server, &happened.event.name);
        let asked = match ruled.what {
            Approval::Allow => {
                self.decided(server, &about, "react", ruled.by);
                return true;
            }
            Approval::Deny(_) => {
                self.decided(server, &about, "ignore", ruled.by);
                return false;
            }
            Approval::Ask | Approval::OncePerTask => {
                self.put(Matter::Event { server: server.to_owned(), happened: happened.clone() }).await
            }
        };
        let (verdict, by) = match asked {
            Some(Ruling::Deny(_) | Ruling::Cancel) => ("ignore", "the user"),
            Some(_) => ("react", "the user"),
            None => ("ignore", NOBODY),
        };
        self.decided(server, &about, verdict, by.to_owned());
        verdict == "react"
    }

    /// Tells something, unless nobody listens fast enough.
    fn tell(&self, notice: Notice) {
        let _ = self.notices.try_send(notice);
    }

    fn decided(&self, server: &str, about: &str, verdict: &str, by: String) {
        let (server, about, verdict) = (server.to_owned(), about.to_owned(), verdict.to_owned());
        self.tell(Notice::Decided { server, about, verdict, by });
    }

    fn pile(&self) -> MutexGuard<'_, Pile> {
        self.pile.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a person rule on something; nothing when there is none, or none who could look at more.
    async fn put(&self, matter: Matter) -> Option<Ruling> {
        if !self.person {
            return None;
        }
        let matter = Arc::new(matter);
        let (id, ruling) = self.pile().put(matter.clone())?;
        // Taken off the pile when the server stops waiting, which drops this.
        let _here = Here { desk: self, id };
        let _ = self.notices.send(Notice::Waiting(id, matter)).await;
        ruling.await.ok()
    }

    /// The schema of a tool that servers may be offered.
    fn schema_of(&self, tool: &str) -> Option<String> {
        let tools = self.tools.get()?.tools();
        tools.into_iter().find(|found| found.tool.name == tool).map(|found| found.tool.input_schema)
    }

    async fn approval(&self, request: &ToolRequest) -> (Verdict, String) {
        let Asker { server, task, .. } = &request.from;
        let Ruled { what, by } = self.rules.tool(server, &request.name, request.read_only);
        match what {
            Approval::Allow => return (Verdict::Allow, by),
            Approval::Deny(reason) => return (Verdict::Deny(reason), by),
            Approval::Ask | Approval::OncePerTask => {}
        }
        let memory = self.memory.now();
        if memory.approves(server, &request.name) {
            return (Verdict::Allow, "the user, who said always".into());
        }
        let open = memory.calls.iter().find(|call| call.correlation_id == *task);
        if open.is_some_and(|call| call.approved.contains(&request.name)) {
            return (Verdict::Allow, "the user, for this call".into());
        }
        let schema = self.schema_of(&request.name);
        let matter = Matter::Call { request: request.clone(), schema, whole_task: what == Approval::OncePerTask };
        let verdict = match self.put(matter).await {
            None => return (Verdict::Deny(format!("{NOBODY}, and no rule allows it")), NOBODY.into()),
            Some(Ruling::Allow) if what == Approval::OncePerTask => {
                self.remember_for_task(task, &request.name);
                Verdict::Allow
            }
            Some(Ruling::ThisTask) => {
                self.remember_for_task(task, &request.name);
                Verdict::Allow
            }
            Some(Ruling::Always) => {
                self.remember(|memory| memory.approve(server, &request.name));
                Verdict::Allow
            }
            Some(Ruling::Fill(arguments)) => Verdict::Edit(arguments),
            Some(Ruling::Deny(reason)) => Verdict::Deny(reason),
            Some(Ruling::Cancel) => Verdict::Deny("the user did not decide".into()),
            Some(Ruling::Allow | Ruling::Text(_)) => Verdict::Allow,
        };
        (verdict, "the user".into())
    }

    fn remember_for_task(&self, task: &str, tool: &str) {
        self.remember(|memory| {
            if let Some(call) = memory.call(task) {
                call.approved.push(tool.to_owned());
            }
        });
    }

    fn remember(&self, change: impl FnOnce(&mut super::Memory)) {
        if let Err(error) = self.memory.change(change) {
            tracing::warn!("{error}");
        }
    }
}

/// Why something is not done without a person.
const NOBODY: &str = "nobody is there to decide";

/// A matter that lies on the pile for as long as this is kept.
struct Here<'a> {
    desk: &'a Desk,
    id: u64,
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        if self.desk.pile().withdraw(self.id) {
            self.desk.tell(Notice::Withdrawn(self.id));
        }
    }
}

#[async_trait]
impl Face for Desk {
    fn abilities(&self) -> Abilities {
        let sample = self.person || (self.model.is_some() && self.rules.lets_models_answer());
        Abilities {
            form: self.person || self.rules.speaks_of_forms(),
            url: self.person || self.rules.speaks_of_pages(),
            sample,
            sample_tools: sample && self.model.is_some(),
            roots: !self.roots.is_empty(),
        }
    }

    async fn approve(&self, request: &ToolRequest) -> Verdict {
        let (verdict, by) = self.approval(request).await;
        let said = match &verdict {
            Verdict::Allow => "allow".to_owned(),
            Verdict::Edit(_) => "allow, edited".to_owned(),
            Verdict::Deny(reason) => format!("deny: {reason}"),
        };
        self.decided(&request.from.server, &request.name, &said, by);
        verdict
    }

    async fn answer(&self, from: &Asker, question: &Asked) -> Reply {
        self.reply(from, question).await
    }

    fn heard(&self, task: &str, heard: Heard) {
        let Some(call) = self.calls.lock().unwrap_or_else(PoisonError::into_inner).get(task).copied() else { return };
        if let Heard::Chunk { seq, content, .. } = &heard {
            self.transcript.chunk(call, *seq, content);
        }
        if let Heard::Named(name) = &heard {
            self.remember(|memory| {
                if let Some(open) = memory.call(task) {
                    open.call = Some(name.clone());
                }
            });
        }
        self.tell(Notice::Heard { call, heard });
    }

    fn changed(&self, server: &str, what: &str) {
        self.tell(Notice::Changed { server: server.to_owned(), what: what.to_owned() });
    }
}

#[cfg(test)]
mod tests;
