//! Pieces of configuration text.

use crate::paths;
use std::path::Path;

/// A plugin that is the guest of the same name; `settings` are further lines of its table, such as
/// `limits.fuel = 1_000`.
pub fn plugin(name: &str, settings: &str) -> String {
    plugin_from(name, &paths::guest(name), settings)
}

/// A plugin made of any component.
pub fn plugin_from(name: &str, source: &Path, settings: &str) -> String {
    table("plugins", name, source, settings)
}

/// An agent-side tool made of a guest.
pub fn agent(name: &str, guest: &str, settings: &str) -> String {
    agent_from(name, &paths::guest(guest), settings)
}

/// An agent-side tool made of any component.
pub fn agent_from(name: &str, source: &Path, settings: &str) -> String {
    table("agent", name, source, settings)
}

fn table(side: &str, name: &str, source: &Path, settings: &str) -> String {
    format!("[{side}.{name}]\nsource = {:?}\n{settings}\n\n", source.display().to_string())
}
