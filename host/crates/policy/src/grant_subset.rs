//! Whether one set of grants allows nothing beyond another one. Used for a rollback to agreed grants, and to tell an added
//! grant from a removed one.

use super::{ClientGrants, FilesystemGrant, Grants, HttpGrant, SampleGrant, ScratchGrant, SecretGrant, StateGrant};

impl Grants {
    /// Whether `other` allows everything that these grants allow. Returns false if it cannot tell. The patterns name every
    /// field, so that nobody can forget a new one here.
    pub fn is_within(&self, other: &Self) -> bool {
        let Self {
            filesystem,
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
        } = self;
        each(filesystem, &other.filesystem, mount)
            && each(agent_tools, &other.agent_tools, |one, other| one.is_within(other))
            && asking(client, &other.client)
            && (!publish || other.publish)
            && each(events, &other.events, |one, other| one.is_within(other))
            && each(connections, &other.connections, PartialEq::eq)
            && each(http, &other.http, requests)
            && each(secrets, &other.secrets, told)
            && each(env, &other.env, PartialEq::eq)
            && each(state.as_slice(), other.state.as_slice(), values)
            && each(scratch.as_slice(), other.scratch.as_slice(), files)
            && each(flows, &other.flows, PartialEq::eq)
    }
}

/// Whether each of `these` is within one of `others`.
fn each<T>(these: &[T], others: &[T], within: impl Fn(&T, &T) -> bool) -> bool {
    these.iter().all(|one| others.iter().any(|other| within(one, other)))
}

pub(super) fn mount(one: &FilesystemGrant, other: &FilesystemGrant) -> bool {
    let FilesystemGrant { host, guest, access, within: _ } = one;
    *host == other.host && *guest == other.guest && *access <= other.access
}

fn asking(one: &ClientGrants, other: &ClientGrants) -> bool {
    let ClientGrants { form, url, sample, roots } = one;
    (!form || other.form)
        && each(url, &other.url, |one, other| one.is_within(other))
        && each(sample.as_slice(), other.sample.as_slice(), sampling)
        && (!roots || other.roots)
}

pub(super) fn sampling(one: &SampleGrant, other: &SampleGrant) -> bool {
    let SampleGrant { calls, tokens, fallback } = one;
    *calls <= other.calls && *tokens <= other.tokens && (!fallback || other.fallback)
}

pub(super) fn requests(one: &HttpGrant, other: &HttpGrant) -> bool {
    let HttpGrant { allow, private, requests, body, timeout, redirects } = one;
    allow.is_within(&other.allow)
        && (!private || other.private)
        && *requests <= other.requests
        && *body <= other.body
        && *timeout <= other.timeout
        && *redirects <= other.redirects
}

pub(super) fn told(one: &SecretGrant, other: &SecretGrant) -> bool {
    let SecretGrant { name, hosts } = one;
    *name == other.name && each(hosts, &other.hosts, |one, other| one.is_within(other))
}

pub(super) fn values(one: &StateGrant, other: &StateGrant) -> bool {
    let StateGrant { size, keys, private } = one;
    *size <= other.size && *keys <= other.keys && private.is_subset(&other.private)
}

pub(super) fn files(one: &ScratchGrant, other: &ScratchGrant) -> bool {
    let ScratchGrant { guest, size } = one;
    *guest == other.guest && *size <= other.size
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn grants(text: &str) -> Grants {
        toml::from_str(text).unwrap()
    }

    /// One line for every key, each with a line that grants less.
    pub(crate) const LESS: [(&str, &str); 17] = [
        (
            r#"filesystem = [{ host = "/a", guest = "/a", access = "write" }]"#,
            r#"filesystem = [{ host = "/a", guest = "/a", access = "read" }]"#,
        ),
        (r#"agent-tools = ["notes.*"]"#, r#"agent-tools = ["notes.add"]"#),
        ("client.form = true", "client.form = false"),
        (r#"client.url = ["*.a.example"]"#, r#"client.url = ["b.a.example"]"#),
        ("client.sample = { calls = 4 }", "client.sample = { calls = 3 }"),
        ("client.sample = { fallback = true }", "client.sample = {}"),
        ("client.roots = true", ""),
        ("publish = true", "publish = false"),
        (r#"events = ["a.*"]"#, r#"events = ["a.b"]"#),
        (r#"connections = ["a", "b"]"#, r#"connections = ["b"]"#),
        (r#"http = [{ allow = "https://a.example/" }]"#, r#"http = [{ allow = "https://a.example/v1/" }]"#),
        (
            r#"http = [{ allow = "https://a.example/", redirects = 2 }]"#,
            r#"http = [{ allow = "https://a.example/", redirects = 1 }]"#,
        ),
        (
            r#"secrets = [{ name = "k", hosts = ["*.a.example"] }]"#,
            r#"secrets = [{ name = "k", hosts = ["b.a.example"] }]"#,
        ),
        (r#"env = ["TZ"]"#, "env = []"),
        (r#"flows = ["client -> model"]"#, ""),
        ("state = { keys = 10 }", "state = { keys = 9 }"),
        (r#"scratch = { size = "2 MiB" }"#, r#"scratch = { size = "1 MiB" }"#),
    ];

    #[test]
    fn less_is_within_more_and_not_the_other_way_round() {
        // Keeps one line for each key: TOML allows a key only once.
        let mut lines: Vec<_> = LESS.iter().map(|(more, _)| *more).collect();
        lines.dedup_by_key(|line| line.split([' ', '=']).next());
        let all = grants(&lines.join("\n"));
        assert!(all.is_within(&all) && Grants::default().is_within(&all) && !all.is_within(&Grants::default()));
        for (more, less) in LESS {
            let (wide, narrow) = (grants(more), grants(less));
            assert!(narrow.is_within(&wide), "{less} is within {more}");
            assert!(!wide.is_within(&narrow), "{more} is not within {less}");
        }
    }

    #[test]
    fn what_is_elsewhere_is_not_within() {
        for (one, other) in [
            (
                r#"filesystem = [{ host = "/a", guest = "/a", access = "read" }]"#,
                r#"filesystem = [{ host = "/b", guest = "/a", access = "write" }]"#,
            ),
            (
                r#"secrets = [{ name = "k", hosts = ["a.example"] }]"#,
                r#"secrets = [{ name = "l", hosts = ["a.example"] }]"#,
            ),
            (r#"scratch = { guest = "/x" }"#, r#"scratch = { guest = "/y" }"#),
            (
                r#"http = [{ allow = "https://a.example/", private = true }]"#,
                r#"http = [{ allow = "https://a.example/" }]"#,
            ),
            (
                r#"http = [{ allow = "https://a.example/", timeout = "2m" }]"#,
                r#"http = [{ allow = "https://a.example/" }]"#,
            ),
        ] {
            assert!(!grants(one).is_within(&grants(other)), "{one}");
        }
    }
}
