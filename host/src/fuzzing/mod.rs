//! What strangers' bytes reach first, each as one function of bytes: what fuzzers call, and the tests with fixed seeds.
//! Beyond not failing, each says what must hold for every input.
//!
//! Only there under test and under `--cfg fuzzing`, which `cargo fuzz` sets. The targets are in `tests/fuzz`.
#![allow(clippy::unwrap_used, reason = "what must hold is unwrapped")]

use crate::config::Config;
use crate::imports::Schema;
use crate::install::Reference;
use crate::mcp::ForeignState;
use crate::package::{self, Manifest};
use crate::policy::{Authority, Grants, HttpPattern, HttpTarget, PluginId, Requests, Side};
use serde_json::Value;
use std::path::Path;
use std::sync::OnceLock;

#[cfg(test)]
mod driver;

/// A target: its name, which is its folder's and its program's too, and what it does with bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: &[Target] = &[
    ("component", component),
    ("manifest", manifest),
    ("policy", policy),
    ("reference", reference),
    ("config", config),
    ("arguments", arguments),
    ("request_state", request_state),
];

/// A component as it comes from outside, before anything compiles it.
pub fn component(data: &[u8]) {
    if let Ok(inspection) = package::inspect(data) {
        assert_eq!(inspection.size, data.len() as u64);
    }
}

/// A manifest: what is accepted says the same when it is written and read again.
pub fn manifest(data: &[u8]) {
    if let Ok(manifest) = Manifest::parse(data) {
        let again = serde_json::to_vec(&manifest).unwrap();
        assert_eq!(Manifest::parse(&again).unwrap(), manifest);
    }
}

/// Requests, grants and a use of them, with a zero byte between: nothing is allowed that only one of the two names, and
/// nothing at all without grants.
pub fn policy(data: &[u8]) {
    let mut parts = data.splitn(3, |byte| *byte == 0).map(String::from_utf8_lossy);
    let mut part = || parts.next().unwrap_or_default();
    let requests = toml::from_str::<Requests>(&part()).unwrap_or_default();
    let grants = toml::from_str::<Grants>(&part()).unwrap_or_default();
    let named = part();
    let plugin = PluginId { side: Side::Server, name: "p".into() };
    let both = Authority::new(plugin.clone(), &requests, &grants);
    let without = [
        Authority::new(plugin.clone(), &requests, &Grants::default()),
        Authority::new(plugin, &Requests::default(), &grants),
    ];
    let target = target(&named);
    let uses = |authority: &Authority| {
        [
            authority.http(&target).is_ok(),
            authority.agent_tool(&named).is_ok(),
            authority.event(&named).is_ok(),
            authority.connection(&named).is_ok(),
            authority.url(&named).is_ok(),
            authority.secret(&named, &target.host).is_ok(),
            authority.form().is_ok(),
            authority.sample().is_ok(),
            authority.roots().is_ok(),
            authority.publish().is_ok(),
            authority.state().is_ok(),
            !authority.mounts().is_empty(),
            authority.env().next().is_some(),
        ]
    };
    for authority in &without {
        assert!(uses(authority).iter().all(|allowed| !allowed), "one key was enough");
    }
    uses(&both);
    if let Err(denial) = both.http(&target) {
        assert!(!denial.to_string().chars().any(char::is_control), "{denial}");
    }
    if let Ok(pattern) = HttpPattern::new(&named) {
        assert_eq!(HttpPattern::new(&pattern.to_string()).unwrap(), pattern);
    }
}

/// A request in its last form, however odd its parts.
fn target(text: &str) -> HttpTarget {
    let (method, rest) = text.split_once(' ').unwrap_or(("GET", text));
    let (scheme, rest) = rest.split_once("://").unwrap_or(("https", rest));
    let (host, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let plain = |text: &str| text.chars().filter(|c| !c.is_control()).collect::<String>();
    HttpTarget {
        method: plain(method),
        secure: scheme == "https",
        host: plain(host),
        port: if scheme == "https" { 443 } else { 80 },
        path: plain(path),
    }
}

/// A reference to a plugin: what is accepted means the same when it is written and read again.
pub fn reference(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Reference::parse(text) {
        Ok(reference) => {
            assert_eq!(Reference::parse(&reference.to_string()).unwrap(), reference, "{text:?}");
            assert!(!reference.place().is_empty() || text.starts_with("file:"), "{text:?}");
        }
        Err(error) => assert!(!error.to_string().chars().any(char::is_control), "{error}"),
    }
}

/// A configuration file.
pub fn config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // What it refers to is below a folder that is nowhere.
    let _ = Config::parse(text, Path::new("/nowhere/p.toml"), Path::new("/nowhere"));
}

/// A tool's schema and a call's arguments, with a zero byte between.
pub fn arguments(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == 0).map(String::from_utf8_lossy);
    let (schema, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let Ok(schema) = Schema::compile(&schema) else { return };
    if let Ok(value) = serde_json::from_str::<Value>(&value)
        && let Err(complaint) = schema.check(&value)
    {
        assert!(complaint.len() < 4 << 10, "{} bytes of complaint", complaint.len());
    }
}

/// A state that a client brings back: nothing opens that was not sealed here for this very request.
pub fn request_state(data: &[u8]) {
    static STATE: OnceLock<ForeignState> = OnceLock::new();
    let state = STATE.get_or_init(ForeignState::new);
    if let Ok(text) = std::str::from_utf8(data) {
        assert!(!state.opens(text), "{text:?} opens");
    }
    assert!(!state.opens_when_changed(data), "{data:?} changes nothing that matters");
}
