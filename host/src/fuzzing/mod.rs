//! What strangers' bytes reach first, each as one function of bytes: what is fuzzed, for a moment with every test run and
//! for as long as one likes by `cargo xtask fuzz`. Beyond not failing, each says what must hold for every input.
//!
//! A target returns what became of its input, in words: an input with which something else becomes of it is worth
//! changing further, which is how mutations find their way in.

use crate::config::Config;
use mcp::ForeignState;
use plugins::install::Reference;
use plugins::package::{self, Manifest};
use policy::{Authority, Grants, HttpPattern, HttpTarget, PluginId, Requests, Side};
use runtime::imports::Schema;
use serde_json::Value;
use std::path::Path;
use std::sync::OnceLock;

mod driver;

/// A target: its name, which is its folder's in `tests/fuzz/corpus` too, and what it does with bytes.
type Target = (&'static str, fn(&[u8]) -> String);

/// All of them.
const TARGETS: &[Target] = &[
    ("component", component),
    ("manifest", manifest),
    ("policy", policy),
    ("reference", reference),
    ("config", config),
    ("arguments", arguments),
    ("request_state", request_state),
];

/// A component as it comes from outside, before anything compiles it.
fn component(data: &[u8]) -> String {
    match package::inspect(data) {
        Ok(inspection) => {
            assert_eq!(inspection.size, data.len() as u64);
            format!("{} imports", inspection.imports.len())
        }
        Err(refusal) => refusal.to_string(),
    }
}

/// A manifest: what is accepted says the same when it is written and read again.
fn manifest(data: &[u8]) -> String {
    match Manifest::parse(data) {
        Ok(manifest) => {
            let again = serde_json::to_vec(&manifest).unwrap();
            assert_eq!(Manifest::parse(&again).unwrap(), manifest);
            String::from_utf8(again).unwrap().split('"').step_by(2).collect()
        }
        Err(why) => why,
    }
}

/// Requests, grants and a use of them, with a zero byte between: nothing is allowed that only one of the two names, and
/// nothing at all without grants.
fn policy(data: &[u8]) -> String {
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
    let mut became = format!("{:?}", uses(&both));
    if let Err(denial) = both.http(&target) {
        assert!(!denial.to_string().chars().any(char::is_control), "{denial}");
    }
    match HttpPattern::new(&named) {
        Ok(pattern) => assert_eq!(HttpPattern::new(&pattern.to_string()).unwrap(), pattern),
        Err(why) => became += &why.to_string(),
    }
    became
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
fn reference(data: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(data) else { return String::new() };
    match Reference::parse(text) {
        Ok(reference) => {
            assert_eq!(Reference::parse(&reference.to_string()).unwrap(), reference, "{text:?}");
            assert!(!reference.place().is_empty() || text.starts_with("file:"), "{text:?}");
            text.chars().filter(|c| !c.is_alphanumeric()).take(8).collect()
        }
        Err(error) => {
            let why = error.to_string();
            assert!(!why.chars().any(char::is_control), "{why}");
            why
        }
    }
}

/// A configuration file.
fn config(data: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(data) else { return String::new() };
    // What it refers to is below a folder that is nowhere.
    let parsed = Config::parse(text, Path::new("/nowhere/p.toml"), Path::new("/nowhere"));
    parsed.err().map(|why| why.to_string()).unwrap_or_default()
}

/// A tool's schema and a call's arguments, with a zero byte between.
fn arguments(data: &[u8]) -> String {
    let mut parts = data.splitn(2, |byte| *byte == 0).map(String::from_utf8_lossy);
    let (schema, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let schema = match Schema::compile(&schema) {
        Ok(schema) => schema,
        Err(why) => return why.to_string(),
    };
    let Ok(value) = serde_json::from_str::<Value>(&value) else { return "no value".into() };
    let complaint = schema.check(&value).err().unwrap_or_default();
    assert!(complaint.len() < 4 << 10, "{} bytes of complaint", complaint.len());
    complaint
}

/// A state that a client brings back: nothing opens that was not sealed here for this very request.
fn request_state(data: &[u8]) -> String {
    static STATE: OnceLock<ForeignState> = OnceLock::new();
    let state = STATE.get_or_init(ForeignState::new);
    if let Ok(text) = std::str::from_utf8(data) {
        assert!(!state.opens(text), "{text:?} opens");
    }
    assert!(!state.opens_when_changed(data), "{data:?} changes nothing that matters");
    String::new()
}
