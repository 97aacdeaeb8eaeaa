//! Checks grants as configured: numbers must be within the host's limits, and names must be able to name something.

use super::guest_path::{is_below, lexically_clean};
use super::names::is_name;
use super::range::{check_duration, check_range};
use super::secret_shape::is_secret_name;
use super::{FilesystemGrant, Grants, HttpGrant, SampleGrant, ScratchGrant, SecretGrant, StateGrant};
use bytesize::ByteSize;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Requests of one call. Bounds how many requests another server gets from this address.
const HTTP_REQUESTS: RangeInclusive<u32> = 1..=10_000;
/// Size of a body. Bounds the traffic of one request. The body is streamed, so its size does not matter for memory.
const HTTP_BODY: RangeInclusive<ByteSize> = ByteSize::b(0)..=ByteSize::gib(1);
/// Time of a request. Bounds how long a server may keep a connection and a call open.
const HTTP_TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3_600);
/// Redirects. Bounds how often a response causes another request.
const HTTP_REDIRECTS: RangeInclusive<u8> = 0..=3;
/// Requests to a model in one call. Bounds a loop that costs somebody money.
const SAMPLE_CALLS: RangeInclusive<u32> = 0..=10_000;
/// Tokens that a model may generate for one call. Bounds the bill.
const SAMPLE_TOKENS: RangeInclusive<u32> = 0..=100_000_000;
/// Keys and values of one principal. Bounds the operator's disk.
const STATE_SIZE: RangeInclusive<ByteSize> = ByteSize::b(0)..=ByteSize::mib(256);
/// Number of keys of one principal. Bounds the operator's disk where the values are empty.
const STATE_KEYS: RangeInclusive<u32> = 0..=1_000_000;
/// Size of a scratch directory. Bounds the disk, and the number of files that are counted before a call.
const SCRATCH_SIZE: RangeInclusive<ByteSize> = ByteSize::kib(4)..=ByteSize::gib(64);

impl Grants {
    /// Refuses grants that are beyond the host's limits, could never be used, or are misleading. The error is a sentence
    /// that begins with the key.
    pub fn check(&self) -> Result<(), String> {
        // The pattern names every field, so that nobody can add a grant and forget to check it here.
        let Grants {
            filesystem,
            agent_tools: _,
            client,
            publish: _,
            events: _,
            connections,
            http,
            secrets,
            env,
            state,
            scratch,
            flows: _,
        } = self;
        directories(filesystem, scratch.as_ref())?;
        connections.iter().try_for_each(|name| check_name("connections", name))?;
        http.iter().try_for_each(requests)?;
        for SecretGrant { name, hosts } in secrets {
            check_name("secrets", name)?;
            if hosts.is_empty() {
                return Err(format!("grants.secrets: `{name}` has no hosts, so nobody could be told it"));
            }
        }
        env.iter().try_for_each(|name| variable(name))?;
        if let Some(SampleGrant { calls, tokens, fallback: _ }) = client.sample {
            check_range("grants.client.sample: calls", calls, SAMPLE_CALLS)?;
            check_range("grants.client.sample: tokens", tokens, SAMPLE_TOKENS)?;
        }
        if let Some(StateGrant { size, keys, private: _ }) = state {
            check_range("grants.state: size", *size, STATE_SIZE)?;
            check_range("grants.state: keys", *keys, STATE_KEYS)?;
        }
        Ok(())
    }
}

fn requests(grant: &HttpGrant) -> Result<(), String> {
    let HttpGrant { allow, private, requests, body, timeout, redirects } = grant;
    check_range("grants.http: requests", *requests, HTTP_REQUESTS)?;
    check_range("grants.http: body", *body, HTTP_BODY)?;
    check_range("grants.http: redirects", *redirects, HTTP_REDIRECTS)?;
    check_duration("grants.http: timeout", *timeout, HTTP_TIMEOUT)?;
    if *private && !allow.names_one_host() {
        return Err(format!(
            "grants.http: `{allow}` covers many hosts, and somebody else decides where their names point; `private` is for a pattern that names one host"
        ));
    }
    Ok(())
}

fn directories(filesystem: &[FilesystemGrant], scratch: Option<&ScratchGrant>) -> Result<(), String> {
    let mut taken: Vec<String> = Vec::new();
    for FilesystemGrant { guest, .. } in filesystem {
        let guest = absolute("filesystem", guest)?;
        if taken.contains(&guest) {
            return Err(format!("grants.filesystem: two directories would be at guest = {guest:?}; give each its own"));
        }
        taken.push(guest);
    }
    let Some(ScratchGrant { guest, size }) = scratch else { return Ok(()) };
    check_range("grants.scratch: size", *size, SCRATCH_SIZE)?;
    let own = absolute("scratch", guest)?;
    let root = |path: &str| path.trim_end_matches('/').to_owned();
    match taken.iter().find(|other| is_below(&own, &root(other)) || is_below(other, &root(&own))) {
        Some(other) => Err(format!(
            "grants.scratch: guest = {own:?} and the directory at {other:?} would lie in one another; give it a place of its own"
        )),
        None => Ok(()),
    }
}

/// A clean path in the guest, without a trailing `/`.
fn absolute(key: &str, guest: &str) -> Result<String, String> {
    let clean = lexically_clean(guest);
    if guest.starts_with('/') && guest.trim_end_matches('/') == clean.trim_end_matches('/') {
        return Ok(clean);
    }
    let example = if key == "scratch" { "/scratch" } else { "/src" };
    Err(format!("grants.{key}: guest = {guest:?} must be an absolute path without `.` and `..`, such as {example:?}"))
}

fn check_name(key: &str, name: &str) -> Result<(), String> {
    if is_name(name, 32, "-_") {
        return Ok(());
    }
    Err(format!("grants.{key}: {name:?} is no name; it must be 1 to 32 of A-Z a-z 0-9 - _"))
}

fn variable(name: &str) -> Result<(), String> {
    if !is_name(name, 128, "_") || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(format!(
            "grants.env: {name:?} is not the name of a variable: write letters, digits and `_`, not a digit first"
        ));
    }
    if name.to_ascii_uppercase().starts_with("PORTCULLIS_") {
        return Err(format!("grants.env: `{name}` configures this host and is never given to a plugin"));
    }
    if is_secret_name(name) {
        return Err(format!(
            "grants.env: `{name}` looks like a secret, which a plugin would then have: put it under [secrets.<name>] and grant `secrets`, and only the hosts you name are told it; a variable that is none needs another name"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(grants: &str) -> Result<(), String> {
        toml::from_str::<Grants>(grants).unwrap().check()
    }

    #[test]
    fn what_means_something_passes() {
        for good in [
            "",
            "state = {}\nscratch = {}\nclient.sample = {}",
            r#"http = [{ allow = "http://127.0.0.1:8080", private = true, redirects = 3 }]"#,
            r#"filesystem = [{ host = ".", guest = "/src/", access = "read" }, { host = ".", guest = "/src/out", access = "write" }]"#,
            r#"env = ["TZ", "_x1", "HTTP_PROXY", "KEYBOARD", "MONKEY"]"#,
        ] {
            check(good).unwrap_or_else(|why| panic!("{good}: {why}"));
        }
    }

    #[test]
    fn the_rest_is_named() {
        for (bad, why) in [
            (r#"http = [{ allow = "https://a.example", requests = 0 }]"#, "http: requests = 0"),
            (r#"http = [{ allow = "https://a.example", requests = 100000 }]"#, "1 to 10000"),
            (r#"http = [{ allow = "https://a.example", body = "2 GiB" }]"#, "http: body = 2.0 GiB"),
            (r#"http = [{ allow = "https://a.example", timeout = "2h" }]"#, "http: timeout = 2h"),
            (r#"http = [{ allow = "https://a.example", timeout = "0s" }]"#, "http: timeout = 0s"),
            (r#"http = [{ allow = "https://a.example", redirects = 4 }]"#, "http: redirects = 4"),
            (r#"http = [{ allow = "https://*.a.example", private = true }]"#, "names one host"),
            (r#"http = [{ allow = "https://*", private = true }]"#, "names one host"),
            (r#"secrets = [{ name = "x", hosts = [] }]"#, "no hosts"),
            (r#"secrets = [{ name = "a b", hosts = ["a.example"] }]"#, "is no name"),
            (r#"connections = [""]"#, "is no name"),
            (r#"client.sample = { calls = 100000 }"#, "client.sample: calls"),
            (r#"state = { size = "1 TiB" }"#, "state: size = 1.0 TiB"),
            (r#"state = { keys = 2000000 }"#, "state: keys"),
            (r#"scratch = { size = "1 B" }"#, "scratch: size"),
            (r#"scratch = { guest = "own" }"#, "absolute"),
            (r#"scratch = { guest = "/a/../b" }"#, "absolute"),
            (r#"scratch = { guest = "/a//b" }"#, "absolute"),
            (r#"filesystem = [{ host = ".", guest = "/a/./b", access = "read" }]"#, "absolute"),
            (
                r#"filesystem = [{ host = "a", guest = "/a", access = "read" }, { host = "b", guest = "/a/", access = "read" }]"#,
                "two directories",
            ),
            (
                "filesystem = [{ host = \".\", guest = \"/s\", access = \"read\" }]\nscratch = { guest = \"/s/own\" }",
                "in one another",
            ),
            (
                "filesystem = [{ host = \".\", guest = \"/s/own\", access = \"read\" }]\nscratch = { guest = \"/s\" }",
                "in one another",
            ),
            (
                "filesystem = [{ host = \".\", guest = \"/s\", access = \"read\" }]\nscratch = { guest = \"/\" }",
                "in one another",
            ),
            (r#"env = ["A B"]"#, "is not the name of a variable"),
            (r#"env = ["1A"]"#, "is not the name of a variable"),
            (r#"env = ["*"]"#, "is not the name of a variable"),
            (r#"env = ["PORTCULLIS_STATE"]"#, "configures this host"),
            (r#"env = ["GITHUB_TOKEN"]"#, "looks like a secret"),
            (r#"env = ["DATABASE_URL"]"#, "looks like a secret"),
        ] {
            let said = check(bad).expect_err(bad);
            assert!(said.contains(why) && said.starts_with("grants."), "{bad}: {said}");
        }
    }
}
