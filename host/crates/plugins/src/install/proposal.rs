//! What an operator could grant to a plugin that asks: a line of TOML for each request, to be agreed to, changed or left
//! out.

use super::words::{Want, wants};
use policy::{ClientRequests, HttpPattern, Requests};
use toml_edit::Value;

/// One line that would allow one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// What it is about.
    pub want: Want,
    /// The grant. Where something in it is the operator's choice, that is written in capitals.
    pub line: String,
    /// What the operator must choose; none: the line can be agreed to as it is.
    pub choose: Option<&'static str>,
}

/// A line for each thing that a manifest asks for.
pub fn proposals(requests: &Requests) -> Vec<Proposal> {
    wants(requests).into_iter().map(|want| proposal(requests, want)).collect()
}

fn proposal(requests: &Requests, want: Want) -> Proposal {
    let text = |text: &str| Value::from(text).to_string();
    let what = text(&want.what);
    let (line, choose) = match want.key {
        "filesystem" => (
            format!("filesystem = [{{ host = \"DIRECTORY\", guest = \"/PATH\", access = {what} }}]"),
            Some("DIRECTORY of this machine, and the /PATH under which the plugin sees it"),
        ),
        "http" => (format!("http = [{{ allow = {what} }}]"), None),
        "secrets" => match hosts(requests).as_slice() {
            [] => (
                format!("secrets = [{{ name = {what}, hosts = [\"HOST\"] }}]"),
                Some("the HOST that is told the secret"),
            ),
            hosts => {
                let hosts: Vec<_> = hosts.iter().map(|host| text(host)).collect();
                (format!("secrets = [{{ name = {what}, hosts = [{}] }}]", hosts.join(", ")), None)
            }
        },
        "client.url" => ("client.url = [\"HOST\"]".to_owned(), Some("the HOST of the pages")),
        "client.sample" => ("client.sample = { calls = 4, tokens = 2000 }".to_owned(), None),
        "state" => ("state = {}".to_owned(), None),
        "scratch" => ("scratch = {}".to_owned(), None),
        key @ ("client.form" | "client.roots" | "publish") => (format!("{key} = true"), None),
        // Lists of names and patterns: agent-tools, events, connections, env.
        key => (format!("{key} = [{what}]"), None),
    };
    Proposal { want, line, choose }
}

/// The hosts that a plugin names itself for its requests over TLS.
fn hosts(requests: &Requests) -> Vec<String> {
    let mut hosts: Vec<_> = requests.http.iter().filter_map(HttpPattern::secret_host).collect();
    hosts.dedup();
    hosts
}

/// What is new in these requests: nobody is asked twice about what was asked before.
pub fn news(old: &Requests, new: &Requests) -> Requests {
    fn rest<T: PartialEq + Clone>(old: &[T], new: &[T]) -> Vec<T> {
        new.iter().filter(|item| !old.contains(item)).cloned().collect()
    }
    let ClientRequests { form, url, sample, roots } = new.client;
    Requests {
        filesystem: new.filesystem.filter(|access| old.filesystem.is_none_or(|before| before < *access)),
        agent_tools: rest(&old.agent_tools, &new.agent_tools),
        client: ClientRequests {
            form: form && !old.client.form,
            url: url && !old.client.url,
            sample: sample && !old.client.sample,
            roots: roots && !old.client.roots,
        },
        publish: new.publish && !old.publish,
        events: rest(&old.events, &new.events),
        connections: rest(&old.connections, &new.connections),
        http: rest(&old.http, &new.http),
        secrets: rest(&old.secrets, &new.secrets),
        env: rest(&old.env, &new.env),
        state: new.state && !old.state,
        scratch: new.scratch && !old.scratch,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::lines;
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
    fn each_line_can_be_granted() {
        let requests: Requests = toml::from_str(ALL).unwrap();
        let lines = proposals(&requests);
        assert_eq!(lines.len(), wants(&requests).len());
        let mut table = Table::new();
        for proposal in &lines {
            let line = proposal.line.replace("HOST", "a.example").replace("DIRECTORY", "/srv").replace("PATH", "srv");
            lines::add(&mut table, &line).unwrap();
        }
        let grants = toml::from_str(&table.to_string()).unwrap();
        let plugin = policy::PluginId { side: policy::Side::Server, name: "p".into() };
        assert!(policy::Authority::new(plugin, &requests, &grants).idle_grants().is_empty());
        let secret = lines.iter().find(|it| it.want.key == "secrets").unwrap();
        assert_eq!(secret.line, r#"secrets = [{ name = "key", hosts = ["a.example", "*.b.example"] }]"#);
        let chosen: Vec<_> = lines.iter().filter(|it| it.choose.is_some()).map(|it| it.want.key).collect();
        assert_eq!(chosen, ["filesystem", "client.url"]);
    }

    #[test]
    fn only_news_is_asked_about() {
        let new: Requests = toml::from_str(ALL).unwrap();
        assert_eq!(news(&Requests::default(), &new), new);
        assert_eq!(news(&new, &new), Requests::default());
        let old = Requests { filesystem: None, http: new.http[1..].to_vec(), state: false, ..new.clone() };
        let keys: Vec<_> = proposals(&news(&old, &new)).into_iter().map(|it| it.want.key).collect();
        assert_eq!(keys, ["filesystem", "http", "state"]);
    }
}
