//! What a plugin requests and no transcript used.

use super::script::Seen;
use policy::{HttpTarget, Requests};

/// What the calls of all transcripts used, as far as a transcript sees it: files and variables are not noted.
#[derive(Default)]
pub(super) struct Used {
    tools: Vec<String>,
    requests: Vec<HttpTarget>,
    asked: bool,
    stored: bool,
}

impl Used {
    pub(super) fn add(&mut self, seen: &Seen, stored: bool) {
        let name = |called: &String| called.split(' ').next().unwrap_or_default().to_owned();
        self.tools.extend(seen.called.iter().map(name));
        let target = |sent: &String| {
            let (method, url) = sent.split_once(' ')?;
            HttpTarget::parse_request(method, url).ok().map(|(target, _)| target)
        };
        self.requests.extend(seen.sent.iter().filter_map(target));
        self.asked |= !seen.asked.is_empty();
        self.stored |= stored;
    }

    /// As they stand in a manifest.
    pub(super) fn unused(&self, requests: &Requests) -> Vec<String> {
        let tools = requests.agent_tools.iter().filter(|it| !self.tools.iter().any(|tool| it.covers(tool)));
        let mut unused: Vec<_> = tools.map(|it| format!("agent-tools {:?}", it.as_str())).collect();
        let http = requests.http.iter().filter(|it| !self.requests.iter().any(|target| it.covers(target)));
        unused.extend(http.map(|it| format!("http {:?}", it.to_string())));
        let client = requests.client;
        if (client.form || client.url || client.sample) && !self.asked {
            unused.push("client".to_owned());
        }
        if requests.state && !self.stored {
            unused.push("state".to_owned());
        }
        unused
    }
}
