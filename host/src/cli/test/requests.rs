//! The requests of a plugin that no transcript used.

use super::run::TestRun;
use super::script::Seen;
use policy::{Access, HttpTarget, Requests};
use runtime::imports::SandboxUses;
use std::collections::BTreeSet;

/// What the calls of all transcripts used, allowed or not.
#[derive(Default)]
pub(super) struct Used {
    tools: Vec<String>,
    requests: Vec<HttpTarget>,
    asked: bool,
    stored: bool,
    published: bool,
    events: BTreeSet<String>,
    secrets: BTreeSet<String>,
    sandbox: SandboxUses,
}

impl Used {
    pub(super) fn add(&mut self, seen: &Seen, run: &TestRun) {
        let name = |called: &String| called.split(' ').next().unwrap_or_default().to_owned();
        self.tools.extend(seen.called.iter().map(name));
        let target = |sent: &String| {
            let (method, url) = sent.split_once(' ')?;
            HttpTarget::parse_request(method, url).ok().map(|(target, _)| target)
        };
        self.requests.extend(seen.sent.iter().filter_map(target));
        self.asked |= !seen.asked.is_empty();
        self.stored |= run.state.is_used();
        self.published |= run.published.is_used();
        self.events.extend(run.published.events());
        self.secrets.extend(seen.secrets.iter().cloned());
        let SandboxUses { files, changes, scratch, environment } = seen.sandbox;
        self.sandbox.files |= files;
        self.sandbox.changes |= changes;
        self.sandbox.scratch |= scratch;
        self.sandbox.environment |= environment;
    }

    /// The requests that no call used, written as in a manifest.
    pub(super) fn unused(&self, requests: &Requests) -> Vec<String> {
        let Requests {
            filesystem,
            agent_tools,
            client,
            publish,
            events,
            // A transcript has no connected accounts, so no call can use one.
            connections: _,
            http,
            secrets,
            env,
            state,
            scratch,
        } = requests;
        let mut unused = Vec::new();
        match filesystem {
            Some(access) if !self.sandbox.files => unused.push(format!("filesystem \"{access}\"")),
            Some(Access::Write) if !self.sandbox.changes => {
                unused.push("filesystem \"write\" where \"read\" is enough".to_owned());
            }
            Some(_) | None => {}
        }
        let tools = agent_tools.iter().filter(|it| !self.tools.iter().any(|tool| it.covers(tool)));
        unused.extend(tools.map(|it| format!("agent-tools {:?}", it.as_str())));
        if (client.form || client.url || client.sample) && !self.asked {
            unused.push("client".to_owned());
        }
        let events = events.iter().filter(|it| !self.events.iter().any(|event| it.covers(event)));
        unused.extend(events.map(|it| format!("events {:?}", it.as_str())));
        let http = http.iter().filter(|it| !self.requests.iter().any(|target| it.covers(target)));
        unused.extend(http.map(|it| format!("http {:?}", it.to_string())));
        unused.extend(secrets.iter().filter(|name| !self.secrets.contains(*name)).map(|it| format!("secrets {it:?}")));
        // A guest reads all variables at once, so it is not known which of them it uses.
        let env = env.iter().filter(|_| !self.sandbox.environment);
        unused.extend(env.map(|name| format!("env {name:?}")));
        let flags = [
            ("publish", *publish && !self.published),
            ("state", *state && !self.stored),
            ("scratch", *scratch && !self.sandbox.scratch),
        ];
        unused.extend(flags.into_iter().filter(|(_, unused)| *unused).map(|(key, _)| key.to_owned()));
        unused
    }
}
