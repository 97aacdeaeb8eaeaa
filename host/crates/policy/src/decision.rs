//! Answers whether a use of authority would be allowed, and by which grant, without using it.
//!
//! The same functions decide for running guests.

use super::{Access, Authority, Capability, Denial, Grants, HttpTarget, Origin, PrivateOrigins, Recipient};
use crate::guest_path::{is_below, lexically_clean};

/// The supported questions, for the error that any other one gets.
const QUESTIONS: &str = "http METHOD URL, filesystem read|write PATH, agent-tools NAME, client.form, client.url HOST, client.sample, client.roots, publish, events NAME, connections NAME, secrets NAME HOST, env NAME, state, scratch, flows 'FROM -> TO'";

impl Capability {
    /// Reads a question such as `http GET https://api.example.com/`; the error is a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let key = words.next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();
        let capability = match (key, rest.as_slice()) {
            ("filesystem", [access, path]) => {
                let access = match *access {
                    "read" => Access::Read,
                    "write" => Access::Write,
                    other => return Err(format!("`{other}` is neither `read` nor `write`")),
                };
                Self::Filesystem { path: (*path).to_owned(), access }
            }
            ("agent-tools", [tool]) => Self::AgentTools { tool: (*tool).to_owned() },
            ("client.form", []) => Self::Form,
            ("client.url", [host]) => Self::Url { host: (*host).to_owned() },
            ("client.sample", []) => Self::Sample,
            ("client.roots", []) => Self::Roots,
            ("publish", []) => Self::Publish,
            ("events", [name]) => Self::Events { name: (*name).to_owned() },
            ("connections", [name]) => Self::Connections { name: (*name).to_owned() },
            ("http", [method, url]) => Self::Http { request: HttpTarget::parse(method, url)?.to_string() },
            ("secrets", [name, host]) => Self::Secrets { name: (*name).to_owned(), host: (*host).to_owned() },
            ("env", [name]) => Self::Env { name: (*name).to_owned() },
            ("state", []) => Self::State,
            ("scratch", []) => Self::Scratch,
            ("flows", [from, "->", to]) => {
                let known = Origin::parse(from).is_some() && Recipient::parse(to).is_some();
                if !known {
                    return Err(format!(
                        "`{from} -> {to}` is no flow: each is client, model, user, agent.<name> or upstream.<name>; the second may be connections.<name> or host-model too"
                    ));
                }
                Self::Flow { flow: format!("{from} -> {to}") }
            }
            _ => return Err(format!("`{text}` is no question; ask one of: {QUESTIONS}")),
        };
        Ok(capability)
    }
}

/// The target of a question about HTTP.
fn target(request: &str) -> Option<HttpTarget> {
    let (method, url) = request.split_once(' ')?;
    HttpTarget::parse(method, url).ok()
}

fn flow(flow: &str) -> Option<(Origin, Recipient)> {
    let (from, to) = flow.split_once(" -> ")?;
    Some((Origin::parse(from)?, Recipient::parse(to)?))
}

impl Authority {
    /// Whether this is allowed. A path is only compared with the granted directories: its links are resolved when it is opened.
    pub fn decide(&self, capability: &Capability) -> Result<(), Denial> {
        let unknown = || Denial::not_granted(self.plugin(), capability.clone());
        match capability {
            Capability::Filesystem { path, access } => self.path(path, *access).map(drop),
            Capability::AgentTools { tool } => self.agent_tool(tool),
            Capability::Form => self.form(),
            Capability::Url { host } => self.url(host),
            Capability::Sample => self.sample().map(drop),
            Capability::Roots => self.roots(),
            Capability::Publish => self.publish(),
            Capability::Events { name } => self.event(name),
            Capability::Connections { name } => self.connection(name),
            Capability::Http { request } => self.http(&target(request).ok_or_else(unknown)?).map(drop),
            Capability::Secrets { name, host } => self.secret(name, host).map(drop),
            Capability::Env { name } => self.variable(name),
            Capability::State => self.state().map(drop),
            Capability::Scratch => self.scratch().map(drop),
            Capability::Flow { flow: text } => {
                let (from, to) = flow(text).ok_or_else(unknown)?;
                self.flow(&PrivateOrigins::from([from]), &to)
            }
        }
    }
}

impl Grants {
    /// The index of the entry of the grant that decides: for a path the innermost directory that holds it, otherwise the first
    /// entry that covers the use. `None` for grants without entries, and if no entry covers it.
    pub fn entry(&self, capability: &Capability) -> Option<usize> {
        match capability {
            Capability::Filesystem { path, .. } => {
                let clean = lexically_clean(path);
                let inside = |guest: &str| is_below(&clean, guest.trim_end_matches('/'));
                let covering = self.filesystem.iter().enumerate().filter(|(_, grant)| inside(&grant.guest));
                covering.max_by_key(|(_, grant)| grant.guest.len()).map(|(at, _)| at)
            }
            Capability::AgentTools { tool } => self.agent_tools.iter().position(|it| it.covers(tool)),
            Capability::Url { host } => self.client.url.iter().position(|it| it.covers(host)),
            Capability::Events { name } => self.events.iter().position(|it| it.covers(name)),
            Capability::Connections { name } => self.connections.iter().position(|it| it == name),
            Capability::Http { request } => {
                let target = target(request)?;
                self.http.iter().position(|it| it.allow.covers(&target))
            }
            Capability::Secrets { name, host } => {
                self.secrets.iter().position(|it| it.name == *name && it.reaches(host))
            }
            Capability::Env { name } => self.env.iter().position(|it| it == name),
            Capability::Flow { flow: text } => {
                let (from, to) = flow(text)?;
                self.flows.iter().position(|it| it.covers(&from, &to))
            }
            Capability::Form
            | Capability::Sample
            | Capability::Roots
            | Capability::Publish
            | Capability::State
            | Capability::Scratch => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PluginId, Requests, Side};

    const REQUESTS: &str = r#"
        filesystem = "write"
        agent-tools = ["notes.*"]
        client = { form = true, url = true, sample = true, roots = true }
        publish = true
        events = ["policy.*"]
        connections = ["github"]
        http = ["GET,POST https://*"]
        secrets = ["token"]
        env = ["TZ"]
        state = true
        scratch = true
    "#;
    const GRANTS: &str = r#"
        filesystem = [{ host = "a", guest = "/a", access = "read" }, { host = "b", guest = "/a/b", access = "write" }]
        agent-tools = ["notes.find", "notes.a*"]
        client = { form = true, url = ["x.example"], sample = {}, roots = true }
        publish = true
        events = ["policy.effective"]
        connections = ["github"]
        http = [{ allow = "https://a.example/v1/" }, { allow = "POST https://a.example" }]
        secrets = [{ name = "token", hosts = ["b.example"] }, { name = "token", hosts = ["a.example"] }]
        env = ["TZ"]
        state = {}
        scratch = {}
        flows = ["client -> connections.*"]
    "#;

    #[test]
    fn every_question_has_an_answer_and_its_entry() {
        let (requests, grants): (Requests, Grants) =
            (toml::from_str(REQUESTS).unwrap(), toml::from_str(GRANTS).unwrap());
        let plugin = || PluginId { side: Side::Server, name: "p".into() };
        let (all, none) = (Authority::new(plugin(), &requests, &grants), Authority::none(plugin()));
        let mut keys = std::collections::BTreeSet::new();
        for (question, entry) in [
            ("filesystem read /a/x", Some(0)),
            ("filesystem write /a/c/../b/x", Some(1)),
            ("agent-tools notes.add", Some(1)),
            ("client.form", None),
            ("client.url x.example", Some(0)),
            ("client.sample", None),
            ("client.roots", None),
            ("publish", None),
            ("events policy.effective", Some(0)),
            ("connections github", Some(0)),
            ("http get https://A.example:443/v1/../v1/x?q=1", Some(0)),
            ("http POST https://a.example/v2", Some(1)),
            ("secrets token a.example", Some(1)),
            ("env TZ", Some(0)),
            ("state", None),
            ("scratch", None),
            ("flows client -> connections.github", Some(0)),
        ] {
            let capability = Capability::parse(question).unwrap();
            keys.insert(capability.key());
            assert!(all.decide(&capability).is_ok(), "{question}");
            assert!(none.decide(&capability).is_err(), "{question}");
            assert_eq!(grants.entry(&capability), entry, "{question}");
        }
        assert_eq!(keys.len(), 15);
        for question in [
            "filesystem write /a/x",
            "filesystem read /a/../etc",
            "agent-tools notes.remove",
            "client.url y.example",
            "http GET https://a.example/v2",
            "http DELETE https://a.example/v1/",
            "http GET http://a.example/v1/",
            "secrets token c.example",
            "flows upstream.x -> host-model",
        ] {
            assert!(all.decide(&Capability::parse(question).unwrap()).is_err(), "{question}");
        }
    }

    #[test]
    fn what_is_no_question_is_said() {
        for bad in [
            "",
            "http",
            "http GET",
            "http GET x",
            "http GET ftp://a",
            "http GET https://u:p@a",
            "filesystem all /",
            "flows a -> b",
            "flows client",
            "publish now",
            "network",
        ] {
            assert!(Capability::parse(bad).is_err(), "{bad}");
        }
    }
}
