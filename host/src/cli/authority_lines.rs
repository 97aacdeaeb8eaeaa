//! Requests and grants as lines, one per capability. The patterns name every field, so that none can be forgotten.

use policy::{
    ClientGrants, ClientRequests, Grants, HostPattern, HttpGrant, Mount, Requests, SampleGrant, ScratchGrant,
    SecretGrant, StateGrant, ToolPattern,
};

/// Pairs of a grant's key and its text.
pub(super) type GrantLines = Vec<(&'static str, String)>;

/// The requests of a manifest.
pub(super) fn request_lines(requests: &Requests) -> GrantLines {
    let Requests { filesystem, agent_tools, client, publish, events, connections, http, secrets, env, state, scratch } =
        requests;
    let ClientRequests { form, url, sample, roots } = client;
    let mut lines: GrantLines = filesystem.iter().map(|access| ("filesystem", access.to_string())).collect();
    lines.extend(patterns("agent-tools", agent_tools));
    lines.extend(flag("client.form", *form));
    lines.extend(flag("client.url", *url));
    lines.extend(flag("client.sample", *sample));
    lines.extend(flag("client.roots", *roots));
    lines.extend(flag("publish", *publish));
    lines.extend(patterns("events", events));
    lines.extend(connections.iter().map(|name| ("connections", name.clone())));
    lines.extend(http.iter().map(|pattern| ("http", pattern.to_string())));
    lines.extend(secrets.iter().map(|name| ("secrets", name.clone())));
    lines.extend(env.iter().map(|name| ("env", name.clone())));
    lines.extend(flag("state", *state));
    lines.extend(flag("scratch", *scratch));
    lines
}

/// The configured grants, whether or not the plugin requests them.
pub(super) fn grant_lines(grants: &Grants) -> GrantLines {
    effective_grant_lines(grants, &grants.filesystem.iter().map(Mount::from).collect::<Vec<_>>())
}

/// The grants, with the directories that the plugin really gets.
pub(super) fn effective_grant_lines(grants: &Grants, mounts: &[Mount]) -> GrantLines {
    let Grants {
        filesystem: _,
        agent_tools,
        client,
        publish,
        events,
        connections,
        http,
        secrets,
        env,
        state,
        scratch,
        flows,
    } = grants;
    let ClientGrants { form, url, sample, roots } = client;
    let mount = |it: &Mount| ("filesystem", format!("{} -> {} ({})", it.host.display(), it.guest, it.access));
    let own = |it: &&Mount| scratch.as_ref().is_some_and(|scratch| scratch.guest == it.guest);
    let mut lines: GrantLines = mounts.iter().filter(|it| !own(it)).map(mount).collect();
    lines.extend(patterns("agent-tools", agent_tools));
    lines.extend(flag("client.form", *form));
    lines.extend(url.iter().map(|host| ("client.url", host.as_str().to_owned())));
    lines.extend(sample.iter().map(|SampleGrant { calls, tokens, fallback }| {
        let fallback = if *fallback { ", or the host's own model" } else { "" };
        ("client.sample", format!("{calls} requests, {tokens} tokens a call{fallback}"))
    }));
    lines.extend(flag("client.roots", *roots));
    lines.extend(flag("publish", *publish));
    lines.extend(patterns("events", events));
    lines.extend(connections.iter().map(|name| ("connections", name.clone())));
    lines.extend(http.iter().map(|HttpGrant { allow, private, requests, body, timeout, redirects }| {
        let timeout = humantime::format_duration(*timeout);
        let private = if *private { ", private networks too" } else { "" };
        let redirects = if *redirects > 0 { format!(", {redirects} redirects") } else { String::new() };
        ("http", format!("{allow} ({requests} a call, {body}, {timeout}{redirects}{private})"))
    }));
    lines.extend(secrets.iter().map(|SecretGrant { name, hosts }| {
        let hosts: Vec<_> = hosts.iter().map(HostPattern::as_str).collect();
        ("secrets", format!("{name} -> {}", hosts.join(", ")))
    }));
    lines.extend(env.iter().map(|name| ("env", name.clone())));
    lines.extend(state.iter().map(|StateGrant { size, keys, private }| {
        let private: Vec<_> = private.iter().map(ToString::to_string).collect();
        let private = if private.is_empty() { String::new() } else { format!(", private to {}", private.join(", ")) };
        ("state", format!("{size}, {keys} keys a principal{private}"))
    }));
    lines.extend(scratch.iter().map(|ScratchGrant { guest, size }| {
        let here = mounts.iter().find(|it| it.guest == *guest).map(|it| format!("{} -> ", it.host.display()));
        ("scratch", format!("{}{guest} ({size})", here.unwrap_or_default()))
    }));
    lines.extend(flows.iter().map(|flow| ("flows", flow.as_str().to_owned())));
    lines
}

fn flag(key: &'static str, on: bool) -> Option<(&'static str, String)> {
    on.then(|| (key, "yes".to_owned()))
}

fn patterns<'a>(key: &'static str, patterns: &'a [ToolPattern]) -> impl Iterator<Item = (&'static str, String)> + 'a {
    patterns.iter().map(move |pattern| (key, pattern.as_str().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capability_has_a_line() {
        let requests = r#"
            filesystem = "read"
            agent-tools = ["notes.*"]
            client = { form = true, url = true, sample = true, roots = true }
            publish = true
            events = ["policy.*"]
            connections = ["github"]
            http = ["https://api.example.com"]
            secrets = ["token"]
            env = ["TZ"]
            state = true
            scratch = true
        "#;
        let keys: Vec<_> = request_lines(&toml::from_str(requests).unwrap()).into_iter().map(|(key, _)| key).collect();
        let expected = [
            "filesystem",
            "agent-tools",
            "client.form",
            "client.url",
            "client.sample",
            "client.roots",
            "publish",
            "events",
            "connections",
            "http",
            "secrets",
            "env",
            "state",
            "scratch",
        ];
        assert_eq!(keys, expected);
        let grants = r#"
            agent-tools = ["notes.*"]
            client = { form = true, url = ["x.org"], sample = {}, roots = true }
            publish = true
            events = ["policy.*"]
            connections = ["github"]
            http = [{ allow = "https://api.example.com" }]
            secrets = [{ name = "token", hosts = ["api.example.com"] }]
            env = ["TZ"]
            state = {}
            scratch = {}
            flows = ["client -> host-model"]
        "#;
        let keys: Vec<_> =
            effective_grant_lines(&toml::from_str(grants).unwrap(), &[]).into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys[..13], expected[1..]);
        assert_eq!(keys[13..], ["flows"]);
    }
}
