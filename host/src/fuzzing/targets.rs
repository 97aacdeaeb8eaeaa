//! The fuzz targets: parsers of untrusted input, each as a function of bytes. Besides not panicking, each asserts what must
//! hold for every input.
//!
//! A target returns a description of the outcome. An input with a new outcome is kept and mutated further.

use crate::config::Config;
use mcp::read_both_ways;
use plugins::install::Reference;
use plugins::package::{self, Manifest};
use policy::{Authority, Capability, Grants, HttpPattern, HttpTarget, PluginId, RequestPath, Requests, Side};
use runtime::imports::Schema;
use serde_json::Value;
use std::path::Path;

/// The name of a target, which is also its folder in `tests/fuzz/corpus`, and its function.
pub(super) type Target = (&'static str, fn(&[u8]) -> String);

pub(super) const TARGETS: &[Target] = &[
    ("component", component),
    ("manifest", manifest),
    ("policy", policy),
    ("reference", reference),
    ("config", config),
    ("arguments", arguments),
    ("direct-call", direct_call),
];

/// A component before it is compiled.
fn component(data: &[u8]) -> String {
    match package::inspect(data) {
        Ok(inspection) => {
            assert_eq!(inspection.size, data.len() as u64);
            format!("{} imports", inspection.imports.len())
        }
        Err(refusal) => refusal.to_string(),
    }
}

/// A manifest. An accepted one must survive a round trip.
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

/// Requests, grants and a use of them, separated by zero bytes. Nothing may be allowed unless both a request and a grant
/// name it.
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
    let target = http_target(&named);
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
        assert!(uses(authority).iter().all(|allowed| !allowed), "a request or a grant alone was enough");
    }
    // A flow is an exception from a rule: nobody requests it.
    for key in Capability::KEYS.iter().map(|(key, _)| *key).filter(|key| *key != "flows") {
        for question in [key.to_owned(), format!("{key} {named}")] {
            let Ok(used) = Capability::parse(&question) else { continue };
            assert!(without.iter().all(|authority| authority.decide(&used).is_err()), "{question}");
        }
    }
    let mut outcome = format!("{:?}", uses(&both));
    if let Err(denial) = both.http(&target) {
        assert!(!denial.to_string().chars().any(char::is_control), "{denial}");
    }
    match HttpPattern::new(&named) {
        Ok(pattern) => assert_eq!(HttpPattern::new(&pattern.to_string()).unwrap(), pattern),
        Err(why) => outcome += &why.to_string(),
    }
    outcome
}

/// An HTTP request with any parts.
fn http_target(text: &str) -> HttpTarget {
    let (method, rest) = text.split_once(' ').unwrap_or(("GET", text));
    let (scheme, rest) = rest.split_once("://").unwrap_or(("https", rest));
    let (host, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let without_controls = |text: &str| text.chars().filter(|c| !c.is_control()).collect::<String>();
    HttpTarget {
        method: without_controls(method),
        secure: scheme == "https",
        host: without_controls(host),
        port: if scheme == "https" { 443 } else { 80 },
        path: RequestPath::new(without_controls(path)),
    }
}

/// A reference to a plugin. An accepted one must survive a round trip.
fn reference(data: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(data) else { return String::new() };
    match Reference::parse(text) {
        Ok(reference) => {
            assert_eq!(Reference::parse(&reference.to_string()).unwrap(), reference, "{text:?}");
            assert!(!reference.location().is_empty() || text.starts_with("file:"), "{text:?}");
            text.chars().filter(|c| !c.is_alphanumeric()).take(8).collect()
        }
        Err(error) => {
            let why = error.to_string();
            assert!(!why.chars().any(char::is_control), "{why}");
            why
        }
    }
}

fn config(data: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(data) else { return String::new() };
    // Relative paths are below a folder that does not exist.
    let parsed = Config::parse(text, Path::new("/nowhere/p.toml"), Path::new("/nowhere"));
    parsed.err().map(|why| why.to_string()).unwrap_or_default()
}

/// The schema of a tool and the arguments of a call, separated by a zero byte.
fn arguments(data: &[u8]) -> String {
    let mut parts = data.splitn(2, |byte| *byte == 0).map(String::from_utf8_lossy);
    let (schema, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let schema = match Schema::compile(&schema) {
        Ok(schema) => schema,
        Err(why) => return why.to_string(),
    };
    let Ok(value) = serde_json::from_str::<Value>(&value) else { return "no value".into() };
    let errors = schema.check(&value).err().unwrap_or_default();
    assert!(errors.len() < 4 << 10, "{} bytes of errors", errors.len());
    errors
}

/// The body of a `tools/call`. If the direct reader accepts it, the ordinary reader must read the same.
fn direct_call(data: &[u8]) -> String {
    read_both_ways(data).unwrap().unwrap_or_default()
}
