//! Proposes a grant for each request of a plugin, as a line of TOML that the operator accepts, changes or leaves out.

use super::capabilities::{RequestedCapability, requested_capabilities};
use policy::{ClientGrants, ClientRequests, Grants, HttpPattern, Requests, ToolPattern};
use toml_edit::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantProposal {
    pub capability: RequestedCapability,
    /// The grant. Parts that the operator must choose are in capitals.
    pub line: String,
    /// What the operator must choose. None if the line can be accepted as it is.
    pub choose: Option<Choice>,
    /// A choice to suggest.
    pub suggested: Option<String>,
}

/// A part of a proposed line that the operator chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// A directory of this machine, and the path under which the plugin sees it.
    Directory,
    /// The host that receives a secret.
    SecretHost,
    /// The host of pages.
    PageHost,
}

impl Choice {
    /// The names of the parts and what they are.
    pub fn what(self) -> &'static str {
        match self {
            Self::Directory => "DIRECTORY of this machine, and the /PATH under which the plugin sees it",
            Self::SecretHost => "the HOST that receives the secret",
            Self::PageHost => "the HOST of the pages",
        }
    }
}

impl GrantProposal {
    /// The line with the operator's choice filled in. `chosen` is a directory or a host; only a directory needs a `path`.
    pub fn with_choice(&self, chosen: &str, path: &str) -> String {
        let quoted = |text: &str| Value::from(text).to_string();
        let line = self.line.replace("\"DIRECTORY\"", &quoted(chosen)).replace("\"HOST\"", &quoted(chosen));
        line.replace("\"/PATH\"", &quoted(path))
    }
}

/// A line for each of `requests`, which are some of `all` requests of the plugin.
pub fn propose_grants(requests: &Requests, all: &Requests) -> Vec<GrantProposal> {
    requested_capabilities(requests).into_iter().map(|capability| propose_grant(all, capability)).collect()
}

fn propose_grant(all: &Requests, capability: RequestedCapability) -> GrantProposal {
    let text = |text: &str| Value::from(text).to_string();
    let value = text(&capability.detail);
    let (line, choose) = match capability.key {
        "filesystem" => (
            format!("filesystem = [{{ host = \"DIRECTORY\", guest = \"/PATH\", access = {value} }}]"),
            Some(Choice::Directory),
        ),
        "http" => {
            // Without `private`, the guest would not reach a server in a private network.
            let inside = HttpPattern::new(&capability.detail).is_ok_and(|pattern| pattern.is_inside());
            (format!("http = [{{ allow = {value}{} }}]", if inside { ", private = true" } else { "" }), None)
        }
        "secrets" => match hosts(all).as_slice() {
            [] => (format!("secrets = [{{ name = {value}, hosts = [\"HOST\"] }}]"), Some(Choice::SecretHost)),
            hosts => {
                let hosts: Vec<_> = hosts.iter().map(|host| text(host)).collect();
                (format!("secrets = [{{ name = {value}, hosts = [{}] }}]", hosts.join(", ")), None)
            }
        },
        "client.url" => ("client.url = [\"HOST\"]".to_owned(), Some(Choice::PageHost)),
        "client.sample" => ("client.sample = { calls = 4, tokens = 2000 }".to_owned(), None),
        "state" => ("state = {}".to_owned(), None),
        "scratch" => ("scratch = {}".to_owned(), None),
        key if capability.detail.is_empty() => (format!("{key} = true"), None),
        // Lists of names and patterns: agent-tools, events, connections, env.
        key => (format!("{key} = [{value}]"), None),
    };
    let suggested = match choose {
        Some(Choice::PageHost) => hosts(all).into_iter().find(|host| !host.contains('*')),
        Some(Choice::SecretHost | Choice::Directory) | None => None,
    };
    GrantProposal { capability, line, choose, suggested }
}

/// The hosts of the manifest's requests that a secret may be sent to.
fn hosts(requests: &Requests) -> Vec<String> {
    let mut hosts: Vec<_> = requests.http.iter().filter_map(HttpPattern::secret_host).collect();
    hosts.dedup();
    hosts
}

/// The requests that the old version did not have, so that the operator is asked about new ones only.
pub fn new_requests(old: &Requests, new: &Requests) -> Requests {
    fn added<T: PartialEq + Clone>(old: &[T], new: &[T]) -> Vec<T> {
        new.iter().filter(|item| !old.contains(item)).cloned().collect()
    }
    let ClientRequests { form, url, sample, roots } = new.client;
    Requests {
        filesystem: new.filesystem.filter(|access| old.filesystem.is_none_or(|before| before < *access)),
        agent_tools: added(&old.agent_tools, &new.agent_tools),
        client: ClientRequests {
            form: form && !old.client.form,
            url: url && !old.client.url,
            sample: sample && !old.client.sample,
            roots: roots && !old.client.roots,
        },
        publish: new.publish && !old.publish,
        events: added(&old.events, &new.events),
        connections: added(&old.connections, &new.connections),
        http: added(&old.http, &new.http),
        secrets: added(&old.secrets, &new.secrets),
        env: added(&old.env, &new.env),
        state: new.state && !old.state,
        scratch: new.scratch && !old.scratch,
    }
}

/// The requests of which nothing is granted. A request that is granted in part is left out, because the operator decided that.
/// For requests to servers, a part is any grant within the request.
pub fn ungranted_requests(requests: &Requests, grants: &Grants) -> Requests {
    let Requests { filesystem, agent_tools, client, publish, events, connections, http, secrets, env, state, scratch } =
        requests;
    let ClientRequests { form, url, sample, roots } = client;
    let ClientGrants { form: form_granted, url: url_granted, sample: sample_granted, roots: roots_granted } =
        &grants.client;
    let patterns = |requests: &[ToolPattern], grants: &[ToolPattern]| {
        let meet = |one: &ToolPattern, other: &ToolPattern| one.covers(other.as_str()) || other.covers(one.as_str());
        let open = requests.iter().filter(|one| !grants.iter().any(|other| meet(one, other)));
        open.cloned().collect()
    };
    let names = |requests: &[String], grants: &[&String]| {
        requests.iter().filter(|name| !grants.contains(name)).cloned().collect()
    };
    let meet = |one: &HttpPattern, other: &HttpPattern| one.is_within(other) || other.is_within(one);
    Requests {
        filesystem: filesystem.filter(|wanted| grants.filesystem.iter().all(|mount| mount.access < *wanted)),
        agent_tools: patterns(agent_tools, &grants.agent_tools),
        client: ClientRequests {
            form: *form && !form_granted,
            url: *url && url_granted.is_empty(),
            sample: *sample && sample_granted.is_none(),
            roots: *roots && !roots_granted,
        },
        publish: *publish && !grants.publish,
        events: patterns(events, &grants.events),
        connections: names(connections, &grants.connections.iter().collect::<Vec<_>>()),
        http: http.iter().filter(|one| !grants.http.iter().any(|other| meet(one, &other.allow))).cloned().collect(),
        secrets: names(secrets, &grants.secrets.iter().map(|secret| &secret.name).collect::<Vec<_>>()),
        env: names(env, &grants.env.iter().collect::<Vec<_>>()),
        state: *state && grants.state.is_none(),
        scratch: *scratch && grants.scratch.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::grant_lines;
    use toml_edit::Table;

    const ALL: &str = r#"
        filesystem = "read"
        agent-tools = ["notes.*"]
        client = { form = true, url = true, sample = true, roots = true }
        publish = true
        events = ["a.*"]
        connections = ["github"]
        http = ["GET,POST https://a.example/v1/", "https://*.b.example"]
        secrets = ["key"]
        env = ["TZ"]
        state = true
        scratch = true"#;

    #[test]
    fn every_proposed_line_is_a_valid_grant() {
        let requests: Requests = toml::from_str(ALL).unwrap();
        let lines = propose_grants(&requests, &requests);
        assert_eq!(lines.len(), requested_capabilities(&requests).len());
        let mut table = Table::new();
        for proposal in &lines {
            let chosen = if proposal.choose == Some(Choice::Directory) { "/it's \"here\"" } else { "a.example" };
            grant_lines::add(&mut table, &proposal.with_choice(chosen, "/srv")).unwrap();
        }
        let grants = toml::from_str(&table.to_string()).unwrap();
        let plugin = policy::PluginId { side: policy::Side::Server, name: "p".into() };
        assert!(policy::Authority::new(plugin, &requests, &grants).unrequested_grants().is_empty());
        let secret = lines.iter().find(|it| it.capability.key == "secrets").unwrap();
        assert_eq!(secret.line, r#"secrets = [{ name = "key", hosts = ["a.example", "*.b.example"] }]"#);
        let chosen: Vec<_> = lines.iter().filter(|it| it.choose.is_some()).map(|it| it.capability.key).collect();
        assert_eq!(chosen, ["filesystem", "client.url"]);
        let page = lines.iter().find(|it| it.capability.key == "client.url").unwrap();
        assert_eq!(page.suggested.as_deref(), Some("a.example"));
    }

    #[test]
    fn a_server_of_this_machine_is_proposed_as_such() {
        let all: Requests =
            toml::from_str("http = [\"http://localhost:8080/\", \"https://a.example\"]\nsecrets = [\"key\"]").unwrap();
        // The earlier version already requested the servers.
        let new = Requests { secrets: all.secrets.clone(), ..Requests::default() };
        let lines = |requests| propose_grants(requests, &all).into_iter().map(|it| it.line).collect::<Vec<_>>();
        let secret = r#"secrets = [{ name = "key", hosts = ["localhost", "a.example"] }]"#;
        let local = r#"http = [{ allow = "http://localhost:8080/", private = true }]"#;
        assert_eq!(lines(&all), [local, r#"http = [{ allow = "https://a.example" }]"#, secret]);
        assert_eq!(lines(&new), [secret]);
    }

    #[test]
    fn only_new_requests_are_proposed() {
        let new: Requests = toml::from_str(ALL).unwrap();
        assert_eq!(new_requests(&Requests::default(), &new), new);
        assert_eq!(new_requests(&new, &new), Requests::default());
        let old = Requests { filesystem: None, http: new.http[1..].to_vec(), state: false, ..new.clone() };
        let keys: Vec<_> =
            propose_grants(&new_requests(&old, &new), &new).into_iter().map(|it| it.capability.key).collect();
        assert_eq!(keys, ["filesystem", "http", "state"]);
    }

    #[test]
    fn what_is_granted_in_part_is_not_proposed_again() {
        let requests: Requests = toml::from_str(ALL).unwrap();
        assert_eq!(ungranted_requests(&requests, &Grants::default()), requests);
        let grants = r#"
            filesystem = [{ host = "/srv", guest = "/srv", access = "read" }]
            agent-tools = ["notes.add"]
            client = { form = true, url = ["a.example"], sample = {}, roots = true }
            publish = true
            events = ["*.*"]
            connections = ["github"]
            http = [{ allow = "GET https://a.example/v1/x/" }, { allow = "https://www.b.example" }]
            secrets = [{ name = "key", hosts = ["a.example"] }]
            env = ["TZ"]
            state = {}
            scratch = {}"#;
        let mut grants: Grants = toml::from_str(grants).unwrap();
        assert_eq!(ungranted_requests(&requests, &grants), Requests::default());
        let more = ALL.replace("\"read\"", "\"write\"").replace("[\"TZ\"]", "[\"TZ\", \"LANG\"]");
        grants.state = None;
        let more: Requests = toml::from_str(&more).unwrap();
        let open = propose_grants(&ungranted_requests(&more, &grants), &more);
        let lines: Vec<_> = open.iter().map(|it| it.line.as_str()).collect();
        let mount = r#"filesystem = [{ host = "DIRECTORY", guest = "/PATH", access = "write" }]"#;
        assert_eq!(lines, [mount, r#"env = ["LANG"]"#, "state = {}"]);
    }
}
