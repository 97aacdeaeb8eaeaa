//! Denials: what was refused, and the exact configuration that would allow it.
//!
//! A plugin and the model that called it learn what was refused, and that the user decides. They never see the command that
//! would allow it: a model with access to a shell has run such a command.

use super::identity::PluginId;
use crate::is_name;

/// A refused use of authority. Its `Display` text is for plugins and models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("denied: {capability} `{target}` {}. {advice}", self.reason)]
pub struct Denial {
    /// The grant's key in the configuration.
    pub capability: &'static str,
    /// What it is about: a path, a name, or a sentence's end.
    pub target: String,
    /// The reason, as the end of a sentence: "is outside the granted directories".
    pub reason: &'static str,
    /// What a plugin or a model can do.
    pub advice: &'static str,
    /// How an operator can allow it.
    pub remedy: String,
}

/// The advice for everything that an operator can allow.
pub const ASK_THE_USER: &str = "Ask the user, who alone can allow it";

impl Denial {
    /// The text for the operator: it contains the command or the setting that would allow the use.
    pub fn for_operator(&self) -> String {
        let Self { capability, target, reason, remedy, .. } = self;
        format!("denied: {capability} `{target}` {reason}. {remedy}")
    }

    /// A line of grants would allow it.
    pub(crate) fn with_grant(
        plugin: &PluginId,
        capability: &'static str,
        target: &str,
        reason: &'static str,
        line: &str,
    ) -> Self {
        let remedy = format!("To allow it: {}", grant_command(plugin, line));
        Self { capability, target: target.to_owned(), reason, advice: ASK_THE_USER, remedy }
    }

    /// The plugin's manifest does not request it, whether it is granted or not.
    pub(crate) fn not_requested(plugin: &PluginId, capability: &'static str, target: &str) -> Self {
        let remedy = format!(
            "The manifest of `{}` does not request it, so no grant has an effect: only a build of the plugin that requests it can have it, under {capability}",
            plugin.name,
        );
        let (reason, advice) = ("is not requested by the plugin", "No grant can change that");
        Self { capability, target: target.to_owned(), reason, advice, remedy }
    }
}

/// The shell command that grants this line. It contains no file name: guests and clients see denials too, and need not know
/// where the configuration is.
pub fn grant_command(plugin: &PluginId, line: &str) -> String {
    format!("portcullis grant {} '{}'", plugin.cli_name(), line.replace('\'', r"'\''"))
}

/// A string of TOML.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A name to suggest in a remedy; anything unusual becomes a placeholder.
pub(crate) fn word(name: &str) -> &str {
    if is_name(name, 128, "._-") { name } else { "<name>" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Side;

    #[test]
    fn an_agent_tool_has_its_side_in_its_name() {
        let notes = PluginId { side: Side::Agent, name: "notes".into() };
        let remedy = Denial::with_grant(&notes, "state", "values", "is not granted", "state = {}").remedy;
        assert_eq!(remedy, "To allow it: portcullis grant agent.notes 'state = {}'");
    }
}
