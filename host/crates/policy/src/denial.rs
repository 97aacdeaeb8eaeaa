//! Denials: what was refused, and the exact configuration that would allow it.
//!
//! A plugin and the model that called it learn what was refused, and that the user decides. They never see the command that
//! would allow it: a model with access to a shell has run such a command.

use super::names::is_name;
use super::{Access, AddressClass, Capability, HttpPattern, PluginId};
use bytesize::ByteSize;

/// A refused use of authority. Its `Display` text is for plugins and models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("denied: {} `{}` {}. {advice}", .capability.key(), .capability.target(), self.reason)]
pub struct Denial {
    pub capability: Capability,
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
        let Self { capability, reason, remedy, .. } = self;
        format!("denied: {} `{}` {reason}. {remedy}", capability.key(), capability.target())
    }

    /// The operator has not granted it.
    pub fn not_granted(plugin: &PluginId, capability: Capability) -> Self {
        let (reason, line) = match &capability {
            Capability::Filesystem { path, access } => {
                ("is outside the granted directories", filesystem_line(&folder_of(path), *access))
            }
            Capability::AgentTools { tool } => ("is not granted", format!(r#"agent-tools = ["{}"]"#, word(tool))),
            Capability::Form => ("is not granted", "client.form = true".to_owned()),
            Capability::Url { host } => ("is not granted", format!(r#"client.url = ["{}"]"#, word(host))),
            Capability::Sample => ("is not granted", "client.sample = {}".to_owned()),
            Capability::Roots => ("is not granted", "client.roots = true".to_owned()),
            Capability::Publish => ("is not granted", "publish = true".to_owned()),
            Capability::Events { name } => ("is not granted", format!(r#"events = ["{}"]"#, word(name))),
            Capability::Connections { name } => ("is not granted", format!(r#"connections = ["{}"]"#, word(name))),
            Capability::Http { request } => ("is not granted", http_line(&origin(request))),
            Capability::Secrets { name, host } => (
                "is not granted for this host",
                format!(r#"secrets = [{{ name = "{}", hosts = ["{}"] }}]"#, word(name), word(host)),
            ),
            Capability::Env { name } => ("is not granted", format!(r#"env = ["{}"]"#, word(name))),
            Capability::State => ("is not granted", "state = {}".to_owned()),
            Capability::Scratch => ("is not granted", "scratch = {}".to_owned()),
            Capability::Flow { flow } => {
                ("would pass on a private result, which is not granted", format!(r#"flows = ["{}"]"#, known(flow)))
            }
        };
        Self { remedy: to_allow(plugin, &line), advice: ASK_THE_USER, capability, reason }
    }

    /// The operator has not granted this request. The manifest requests it with this pattern.
    pub fn http_not_granted(plugin: &PluginId, request: String, requested: &HttpPattern) -> Self {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || " ,:/._~-[]".contains(c);
        // If the pattern covers many hosts, suggest only the host of this request.
        let pattern = match requested.names_one_host() && requested.as_str().chars().all(is_plain) {
            true => requested.to_string(),
            false => origin(&request),
        };
        let line = http_line(&pattern);
        let capability = Capability::Http { request };
        Self { remedy: to_allow(plugin, &line), advice: ASK_THE_USER, capability, reason: "is not granted" }
    }

    /// The path is in a directory that was granted for reading only, at `guest`.
    pub fn read_only(plugin: &PluginId, capability: Capability, guest: &str) -> Self {
        let remedy = to_allow(plugin, &filesystem_line(guest, Access::Write));
        Self { capability, reason: "may only be read", advice: ASK_THE_USER, remedy }
    }

    /// The path is in a directory that the plugin can only read, whatever is granted, because its manifest does not request to
    /// write.
    pub fn requests_only_reading(plugin: &PluginId, capability: Capability) -> Self {
        let remedy = format!(
            "The plugin requests read, not write; no grant can change that, only a build of `{}` that requests write",
            plugin.name
        );
        Self { capability, reason: "may only be read", advice: "No grant can change that", remedy }
    }

    /// The manifest requests no files, so no grant of files has an effect. Programs and other components that were not built
    /// for this host have no manifest at first.
    pub fn requests_no_files(capability: Capability) -> Self {
        let remedy = "Have its manifest request it (`portcullis plugin manifest FILE --set 'requests.filesystem=\"read\"'`), then grant a directory";
        Self { capability, reason: "is not requested by its manifest", advice: ASK_THE_USER, remedy: remedy.to_owned() }
    }

    /// The path is in a granted directory but leads out of it.
    pub fn leads_outside(capability: Capability) -> Self {
        let remedy =
            "It is in a granted directory but leads out of it, by a link or `..`; grant the directory it leads to";
        let reason = "leads outside the granted directories";
        Self { capability, reason, advice: ASK_THE_USER, remedy: remedy.to_owned() }
    }

    /// The request is granted, but the address of its host is in a private network, on this machine, or forbidden.
    pub fn forbidden_address(plugin: &PluginId, request: String, reach: AddressClass) -> Self {
        let capability = Capability::Http { request };
        const NEVER: &str = "No grant allows that";
        let (reason, advice, remedy) = match reach {
            AddressClass::Public | AddressClass::Private(_) => (
                "leads into a private network or to this machine",
                ASK_THE_USER,
                format!(
                    "To allow it, put `private = true` into the line of `http` under [{}.grants] that names this host, and this host alone",
                    plugin.table()
                ),
            ),
            AddressClass::Forbidden(_) => (
                "leads to an address that no plugin may reach, such as a metadata service or reserved space",
                NEVER,
                NEVER.to_owned(),
            ),
        };
        Self { capability, reason, advice, remedy }
    }

    /// The secret is granted for this host, but would be sent unencrypted.
    pub fn unencrypted_secret(name: &str, host: &str) -> Self {
        let capability = Capability::Secrets { name: name.to_owned(), host: host.to_owned() };
        let advice = "A secret is sent over TLS only, or to this machine: have the plugin ask for an https URL";
        Self { capability, reason: "would be sent unencrypted", advice, remedy: advice.to_owned() }
    }

    /// The plugin's scratch directory would hold more than `limit` bytes.
    pub fn scratch_full(plugin: &PluginId, limit: u64) -> Self {
        let more = ByteSize(limit.saturating_mul(2));
        let remedy = to_allow(plugin, &format!("scratch = {{ size = \"{more}\" }}"));
        Self { capability: Capability::Scratch, reason: "is full", advice: ASK_THE_USER, remedy }
    }

    /// The call may grow files in granted directories by `limit` bytes, together with the calls below it. It, or one of its
    /// callers, has used them up.
    pub fn growth_exceeded(plugin: &PluginId, limit: u64) -> Self {
        let capability = Capability::Filesystem { path: "granted directories".to_owned(), access: Access::Write };
        let remedy = format!(
            "A call gets {}, together with the calls below it; limits.file-growth under [{}] sets it, and that of its callers",
            ByteSize(limit),
            plugin.table()
        );
        Self { capability, reason: "would grow by more than a call may write", advice: ASK_THE_USER, remedy }
    }

    /// The plugin's manifest does not request it, whether it is granted or not.
    pub fn not_requested(plugin: &PluginId, capability: Capability) -> Self {
        let remedy = format!(
            "The manifest of `{}` does not request it, so no grant has an effect: only a build of the plugin that requests it can have it, under {}",
            plugin.name,
            capability.key(),
        );
        let advice = "No grant can change that";
        Self { capability, reason: "is not requested by the plugin", advice, remedy }
    }
}

fn to_allow(plugin: &PluginId, line: &str) -> String {
    format!("To allow it: {}", grant_command(plugin, line))
}

/// The shell command that grants this line. It contains no file name: guests and clients see denials too, and need not know
/// where the configuration is.
pub fn grant_command(plugin: &PluginId, line: &str) -> String {
    format!("portcullis grant {} '{}'", plugin.cli_name(), line.replace('\'', r"'\''"))
}

fn filesystem_line(guest: &str, access: Access) -> String {
    format!(r#"filesystem = [{{ host = "<directory>", guest = {}, access = "{access}" }}]"#, quoted(guest))
}

fn quoted(text: &str) -> String {
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

/// A flow to suggest in a remedy. Both sides must look like names from the configuration; anything else becomes a placeholder.
fn known(flow: &str) -> &str {
    match super::FlowPattern::new(flow) {
        Ok(_) if flow.chars().all(|c| c.is_ascii_alphanumeric() || " .->_".contains(c)) => flow,
        _ => "<from> -> <to>",
    }
}

/// A name to suggest in a remedy; anything unusual becomes a placeholder here, too.
fn word(name: &str) -> &str {
    if is_name(name, 128, "._-") { name } else { "<name>" }
}

/// The line that grants such requests. A host on this machine or in a private network also needs `private = true`.
fn http_line(pattern: &str) -> String {
    let inside = HttpPattern::new(pattern).is_ok_and(|pattern| pattern.is_inside());
    format!(r#"http = [{{ allow = "{pattern}"{} }}]"#, if inside { ", private = true" } else { "" })
}

/// The pattern to suggest in a remedy: method and server of the refused request.
fn origin(request: &str) -> String {
    let (method, url) = request.split_once(' ').unwrap_or(("GET", request));
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let text = format!("{method} {scheme}://{}/", rest.split('/').next().unwrap_or_default());
    match HttpPattern::new(&text) {
        Ok(_) => text,
        Err(_) => "GET https://<host>/".to_owned(),
    }
}

/// The folder to suggest in a remedy: the first component of an absolute path. A guest chose this text and an operator
/// may paste it, so anything unusual becomes a placeholder.
fn folder_of(path: &str) -> String {
    let first = path.split('/').find(|part| !part.is_empty() && *part != "." && *part != "..");
    match first {
        Some(part) if is_name(part, 64, "._-") => format!("/{part}"),
        _ => "/<folder>".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Side;

    fn files() -> PluginId {
        PluginId { side: Side::Server, name: "files".into() }
    }

    #[test]
    fn names_the_grant_and_the_line() {
        let denial = Denial::not_granted(&files(), Capability::AgentTools { tool: "notes.add".into() });
        assert_eq!(
            denial.for_operator(),
            "denied: agent-tools `notes.add` is not granted. To allow it: portcullis grant files 'agent-tools = [\"notes.add\"]'"
        );
        assert_eq!(denial.to_string(), format!("denied: agent-tools `notes.add` is not granted. {ASK_THE_USER}"));
        let path = Capability::Filesystem { path: "/etc/passwd".into(), access: Access::Read };
        assert!(
            Denial::not_granted(&files(), path)
                .for_operator()
                .ends_with("'filesystem = [{ host = \"<directory>\", guest = \"/etc\", access = \"read\" }]'")
        );
    }

    #[test]
    fn an_agent_tool_has_its_side_in_its_name() {
        let notes = PluginId { side: Side::Agent, name: "notes".into() };
        let remedy = Denial::not_granted(&notes, Capability::State).remedy;
        assert_eq!(remedy, "To allow it: portcullis grant agent.notes 'state = {}'");
    }

    /// The text between the outer quotes must be one shell word and one line of TOML.
    #[test]
    fn a_guest_cannot_write_the_remedy() {
        for evil in ["x'; rm -rf ~ #", "x\" }]\nevil = true", "$(id)", "`id`", "a' b", "\u{202e}x", "\\", "x\r"] {
            let (path, name) = (format!("/{evil}"), evil.to_owned());
            for capability in [
                Capability::Filesystem { path, access: Access::Write },
                Capability::AgentTools { tool: name.clone() },
                Capability::Url { host: name.clone() },
                Capability::Events { name: name.clone() },
                Capability::Connections { name: name.clone() },
                Capability::Http { request: format!("GET https://{evil}/") },
                Capability::Secrets { name: name.clone(), host: name.clone() },
                Capability::Env { name: name.clone() },
                Capability::Flow { flow: format!("client -> agent.{evil}") },
            ] {
                let remedy = Denial::not_granted(&files(), capability).remedy;
                let line = remedy.strip_prefix("To allow it: portcullis grant files '").unwrap();
                let line = line.strip_suffix('\'').unwrap();
                assert!(!line.contains(['\'', '\n', '\r', '\\', '$', '`', '\u{202e}']), "{remedy}");
                assert!(line.contains('<') && line.parse::<toml::Table>().is_ok(), "{remedy}");
            }
        }
    }

    #[test]
    fn an_operators_own_path_stays_one_word() {
        let path = Capability::Filesystem { path: "/it's/x".into(), access: Access::Write };
        let remedy = Denial::read_only(&files(), path, "/it's \"here\"").remedy;
        assert!(remedy.contains(r#"guest = "/it'\''s \"here\"""#), "{remedy}");
    }
}
