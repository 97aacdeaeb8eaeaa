//! Describes the capabilities that a plugin requests, and the interfaces that it imports, in plain language.

use policy::{Access, ClientRequests, Requests};

/// One capability in a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedCapability {
    /// The key in manifests and grants.
    pub key: &'static str,
    /// The requested value, such as a pattern or a name; empty if the key says everything.
    pub detail: String,
    /// What the plugin can do when this is granted. Continues a sentence that begins with "it".
    pub effect: &'static str,
}

/// Lists the requests of a manifest. Destructures every field, so that none can be forgotten.
pub fn requested_capabilities(requests: &Requests) -> Vec<RequestedCapability> {
    let Requests { filesystem, agent_tools, client, publish, events, connections, http, secrets, env, state, scratch } =
        requests;
    let ClientRequests { form, url, sample, roots } = client;
    let mut capabilities = Vec::new();
    let mut add = |key, detail: String, effect| capabilities.push(RequestedCapability { key, detail, effect });
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
        add("http", pattern.to_string(), "sends any data that it has to these servers, and reads their answers");
    }
    for name in secrets {
        add("secrets", name.clone(), "uses this secret in requests to servers that you name; it never sees the secret");
    }
    for name in connections {
        add("connections", name.clone(), "acts in the user's account there, once the user has connected it");
    }
    for pattern in agent_tools {
        add("agent-tools", pattern.as_str().to_owned(), "calls these tools of the agent, with arguments of its choice");
    }
    for (requested, key, effect) in [
        (*form, "client.form", "asks the user questions, which are shown as coming from the plugin"),
        (*url, "client.url", "sends the user to pages of the hosts that you name"),
        (*sample, "client.sample", "uses the client's model, which may cost money"),
        (*roots, "client.roots", "sees which folders the user works in"),
        (*publish, "publish", "publishes its own resources and prompts to the user and the model"),
    ] {
        if requested {
            add(key, String::new(), effect);
        }
    }
    for pattern in events {
        add("events", pattern.as_str().to_owned(), "sends events to the user's inbox, to which an agent may react");
    }
    for name in env {
        add("env", name.clone(), "reads this variable of the host's environment");
    }
    if *state {
        add("state", String::new(), "keeps values from call to call, separately for each user");
    }
    if *scratch {
        add(
            "scratch",
            String::new(),
            "keeps files from call to call, in a directory of its own that all its calls share",
        );
    }
    capabilities
}

/// Groups imports by purpose, the most powerful first. An import is not a permission: without a grant it returns an
/// error, or nothing.
pub fn group_imports(names: &[String]) -> Vec<(&'static str, Vec<&str>)> {
    let mut groups: Vec<(&'static str, Vec<&str>)> = GROUPS.iter().map(|(_, purpose)| (*purpose, Vec::new())).collect();
    for name in names {
        let at = GROUPS.iter().position(|(prefixes, _)| prefixes.iter().any(|prefix| name.starts_with(prefix)));
        if let Some((_, group)) = groups.get_mut(at.unwrap_or(GROUPS.len() - 1)) {
            group.push(name);
        }
    }
    groups.retain(|(_, group)| !group.is_empty());
    groups
}

/// Prefixes of interfaces, and their purpose. The last group contains all others.
const GROUPS: &[(&[&str], &str)] = &[
    (&["wasi:filesystem/"], "files, of directories that you grant"),
    (&["wasi:http/"], "HTTP, to servers that you grant"),
    (&["wasi:sockets/"], "network sockets, which are always refused"),
    (&["portcullis:plugin/connections@"], "connected accounts that you grant"),
    (&["portcullis:plugin/agent-tools@"], "the agent's tools that you grant"),
    (&["portcullis:plugin/client@"], "the user, the client's model and its folders, as you grant"),
    (
        &["portcullis:plugin/publish@", "portcullis:plugin/events@"],
        "resources, prompts and events for users, as you grant",
    ),
    (
        &["portcullis:plugin/state@", "wasmcp:mcp-v20251125/sessions@", "wasmcp:mcp-v20250618/sessions@"],
        "values from call to call, if you grant it",
    ),
    (
        &[
            "portcullis:plugin/types@",
            "portcullis:plugin/output@",
            "portcullis:plugin/progress@",
            "portcullis:plugin/log@",
            "portcullis:plugin/meter@",
            "portcullis:plugin/steering@",
            "portcullis:plugin/checkpoint@",
            "wasmcp:mcp-v20251125/",
            "wasmcp:mcp-v20250618/",
            "wasmcp:auth/types@",
            "act:core/types@",
            "act:tools/types@",
        ],
        "its own call: output, progress, log, remaining budget; always allowed, within limits",
    ),
    (
        &["wasi:clocks/", "wasi:random/", "wasi:io/", "wasi:cli/"],
        "the time, random numbers, streams, an empty environment; always allowed, within limits",
    ),
    (&[], "unknown to this host"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_a_description() {
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
        let capabilities = requested_capabilities(&toml::from_str(all).unwrap());
        assert_eq!(capabilities.len(), 14);
        assert!(capabilities.iter().all(|capability| capability.effect.len() > 20));
        assert!(requested_capabilities(&Requests::default()).is_empty());
    }

    #[test]
    fn imports_are_grouped_by_purpose() {
        let names =
            ["wasi:io/poll@0.2.3", "wasi:http/types@0.2.3", "evil:thing/x@1.0.0", "portcullis:plugin/log@0.1.0"];
        let owned = names.map(String::from);
        let groups = group_imports(&owned);
        let firsts: Vec<_> = groups.iter().map(|(_, names)| names[0]).collect();
        assert_eq!(firsts, ["wasi:http/types@0.2.3", names[3], names[0], "evil:thing/x@1.0.0"]);
        assert!(groups[3].0.contains("unknown"));
    }
}
