//! What a plugin wants, in words that need no manual: one sentence for each capability and each group of imports.

use policy::{Access, ClientRequests, Requests};

/// One thing that a plugin wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// Its key in manifests and grants.
    pub key: &'static str,
    /// What exactly, as the manifest has it; empty when there is nothing to add.
    pub what: String,
    /// What it would mean to allow it.
    pub means: &'static str,
}

/// What a manifest asks for, in sentences. The patterns name every field, so none can be forgotten.
pub fn wants(requests: &Requests) -> Vec<Want> {
    let Requests { filesystem, agent_tools, client, publish, events, connections, http, secrets, env, state, scratch } =
        requests;
    let ClientRequests { form, url, sample, roots } = client;
    let mut wants = Vec::new();
    let mut add = |key, what: String, means| wants.push(Want { key, what, means });
    match filesystem {
        None => {}
        Some(access @ Access::Read) => {
            add("filesystem", access.to_string(), "reads all files of the directories that you name, and no others");
        }
        Some(access @ Access::Write) => {
            add("filesystem", access.to_string(), "reads, changes and deletes files of the directories that you name");
        }
    }
    for pattern in http {
        add("http", pattern.to_string(), "sends whatever it knows to these servers, and reads what they answer");
    }
    for name in secrets {
        add("secrets", name.clone(), "has the host send this secret along to servers that you name; it never sees it");
    }
    for name in connections {
        add("connections", name.clone(), "acts in the user's account there, once the user has connected it");
    }
    for pattern in agent_tools {
        add("agent-tools", pattern.as_str().to_owned(), "calls these tools of the agent, with arguments of its choice");
    }
    for (on, key, means) in [
        (*form, "client.form", "asks the user questions; its words are shown as its own"),
        (*url, "client.url", "sends the user to pages of the hosts that you name"),
        (*sample, "client.sample", "asks the client's model, which somebody pays for"),
        (*roots, "client.roots", "sees which folders the user works in"),
        (*publish, "publish", "puts resources and prompts of its own before the user and the model"),
    ] {
        if on {
            add(key, String::new(), means);
        }
    }
    for pattern in events {
        add("events", pattern.as_str().to_owned(), "puts news into the user's inbox, to which an agent may react");
    }
    for name in env {
        add("env", name.clone(), "reads this variable of the host's environment");
    }
    if *state {
        add("state", String::new(), "keeps values from call to call, for each user apart");
    }
    if *scratch {
        add(
            "scratch",
            String::new(),
            "keeps files from call to call, in a directory of its own that all its calls share",
        );
    }
    wants
}

/// Imports in groups, each with what it is for, in the order of how much they can do. Importing is not being allowed:
/// without a grant each of them answers with an error, or with nothing.
pub fn imports(names: &[String]) -> Vec<(&'static str, Vec<&str>)> {
    let mut groups: Vec<(&'static str, Vec<&str>)> = GROUPS.iter().map(|(_, means)| (*means, Vec::new())).collect();
    for name in names {
        let at = GROUPS.iter().position(|(begins, _)| begins.iter().any(|begin| name.starts_with(begin)));
        if let Some((_, group)) = groups.get_mut(at.unwrap_or(GROUPS.len() - 1)) {
            group.push(name);
        }
    }
    groups.retain(|(_, group)| !group.is_empty());
    groups
}

/// The last group has what is in no other.
const GROUPS: &[(&[&str], &str)] = &[
    (&["wasi:filesystem/"], "files, of directories that you grant"),
    (&["wasi:http/"], "HTTP, to servers that you grant"),
    (&["wasi:sockets/"], "network sockets, which are always refused"),
    (&["portcullis:plugin/connections@"], "connected accounts that you grant"),
    (&["portcullis:plugin/agent-tools@"], "the agent's tools that you grant"),
    (&["portcullis:plugin/client@"], "the user, the client's model and its folders, as you grant"),
    (&["portcullis:plugin/publish@", "portcullis:plugin/events@"], "what users find afterwards, as you grant"),
    (&["portcullis:plugin/state@"], "values from call to call, if you grant it"),
    (
        &[
            "portcullis:plugin/types@",
            "portcullis:plugin/output@",
            "portcullis:plugin/progress@",
            "portcullis:plugin/log@",
            "portcullis:plugin/meter@",
            "portcullis:plugin/steering@",
        ],
        "its own call: output, progress, log, what it has left; always allowed, within limits",
    ),
    (
        &["wasi:clocks/", "wasi:random/", "wasi:io/", "wasi:cli/"],
        "the time, random numbers, streams, an empty environment; always allowed, within limits",
    ),
    (&[], "something that this host does not know"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_a_sentence() {
        let all = r#"
            filesystem = "write"
            agent-tools = ["notes.*"]
            client = { form = true, url = true, sample = true, roots = true }
            publish = true
            events = ["a.*"]
            connections = ["github"]
            http = ["https://a.example/"]
            secrets = ["key"]
            env = ["TZ"]
            state = true
            scratch = true"#;
        let wants = wants(&toml::from_str(all).unwrap());
        assert_eq!(wants.len(), 14);
        assert!(wants.iter().all(|want| want.means.len() > 20));
        assert!(super::wants(&Requests::default()).is_empty());
    }

    #[test]
    fn imports_are_told_apart() {
        let names =
            ["wasi:io/poll@0.2.3", "wasi:http/types@0.2.3", "evil:thing/x@1.0.0", "portcullis:plugin/log@0.1.0"];
        let owned = names.map(String::from);
        let groups = imports(&owned);
        let firsts: Vec<_> = groups.iter().map(|(_, names)| names[0]).collect();
        assert_eq!(firsts, ["wasi:http/types@0.2.3", names[3], names[0], "evil:thing/x@1.0.0"]);
        assert!(groups[3].0.contains("does not know"));
    }
}
