//! Pieces of configuration text.

use crate::paths;
use serde_json::Value;
use std::path::Path;

/// A plugin that is the guest of the same name; `settings` are further lines of its table, such as
/// `limits.fuel = 1_000`.
pub fn plugin(name: &str, settings: &str) -> String {
    plugin_from(name, &paths::guest(name), settings)
}

/// A plugin from any component.
pub fn plugin_from(name: &str, source: &Path, settings: &str) -> String {
    table("plugins", name, source, settings)
}

/// An agent-side tool from a guest.
pub fn agent(name: &str, guest: &str, settings: &str) -> String {
    agent_from(name, &paths::guest(guest), settings)
}

/// An agent-side tool from any component.
pub fn agent_from(name: &str, source: &Path, settings: &str) -> String {
    table("agent", name, source, settings)
}

/// Adds a manifest to a component, for values that are known only when the test runs.
pub fn with_manifest(mut component: Vec<u8>, manifest: &Value) -> Vec<u8> {
    let name = "portcullis:manifest";
    let mut section = vec![u8::try_from(name.len()).expect("a short name")];
    section.extend(name.as_bytes());
    section.extend(manifest.to_string().as_bytes());
    component.push(0);
    let mut size = section.len();
    while size >= 0x80 {
        component.push(0x80 | u8::try_from(size & 0x7f).expect("seven bits"));
        size >>= 7;
    }
    component.push(u8::try_from(size).expect("seven bits"));
    component.extend(section);
    component
}

fn table(side: &str, name: &str, source: &Path, settings: &str) -> String {
    format!("[{side}.{name}]\nsource = {:?}\n{settings}\n\n", source.display().to_string())
}
