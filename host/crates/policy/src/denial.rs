//! Refusals: what was refused and the exact configuration that would allow it.

use super::{Access, PluginId, Reach};
use bytesize::ByteSize;

/// A use of authority, as it was attempted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Capability {
    /// A path, as the guest named it.
    Filesystem {
        /// The path inside the guest.
        path: String,
        /// What was wanted.
        access: Access,
    },
    /// An agent-side tool, by full name.
    AgentTools {
        /// `<agent plugin>.<tool>`.
        tool: String,
    },
    /// A form for the user.
    Form,
    /// A page for the user.
    Url {
        /// The page's host.
        host: String,
    },
    /// The client's model.
    Sample,
    /// The client's roots.
    Roots,
    /// Resources and prompts made at run time.
    Publish,
    /// An event, by name.
    Events {
        /// Dotted words.
        name: String,
    },
    /// A connected account, by name.
    Connections {
        /// The connection's key in the configuration.
        name: String,
    },
    /// A request to another server.
    Http {
        /// Method and URL, without query.
        request: String,
    },
    /// A secret, told to a host.
    Secrets {
        /// The secret's key in the configuration.
        name: String,
        /// Who was to be told.
        host: String,
    },
    /// A variable of the host's environment, by name. A guest that lacks it sees nothing, and is told nothing.
    Env {
        /// The variable's name.
        name: String,
    },
    /// Values kept from call to call.
    State,
    /// A directory of the plugin's own; as with `Env`, a guest that lacks it finds none.
    Scratch,
    /// What one origin marked private, told to another.
    Flow {
        /// `from -> to`.
        flow: String,
    },
}

impl Capability {
    /// The grant's key in the configuration.
    pub fn key(&self) -> &'static str {
        match self {
            Capability::Filesystem { .. } => "filesystem",
            Capability::AgentTools { .. } => "agent-tools",
            Capability::Form => "client.form",
            Capability::Url { .. } => "client.url",
            Capability::Sample => "client.sample",
            Capability::Roots => "client.roots",
            Capability::Publish => "publish",
            Capability::Events { .. } => "events",
            Capability::Connections { .. } => "connections",
            Capability::Http { .. } => "http",
            Capability::Secrets { .. } => "secrets",
            Capability::Env { .. } => "env",
            Capability::State => "state",
            Capability::Scratch => "scratch",
            Capability::Flow { .. } => "flows",
        }
    }

    /// What was to be used.
    pub fn target(&self) -> &str {
        match self {
            Capability::Filesystem { path, .. } => path,
            Capability::AgentTools { tool } => tool,
            Capability::Form => "a form",
            Capability::Url { host } => host,
            Capability::Sample => "the client's model",
            Capability::Roots => "the client's roots",
            Capability::Publish => "resources and prompts",
            Capability::Events { name }
            | Capability::Connections { name }
            | Capability::Secrets { name, .. }
            | Capability::Env { name } => name,
            Capability::Http { request } => request,
            Capability::State => "values kept from call to call",
            Capability::Scratch => "a directory of its own",
            Capability::Flow { flow } => flow,
        }
    }
}

/// A refused use. Its text names the grant and the line that would give it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("denied: {} `{}` {}. {remedy}", .capability.key(), .capability.target(), self.reason)]
pub struct Denial {
    /// What was refused.
    pub capability: Capability,
    /// Why, as the end of a sentence: "is outside the granted directories".
    pub reason: &'static str,
    /// How an operator would allow it.
    pub remedy: String,
}

impl Denial {
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
            Capability::Http { request } => {
                ("is not granted", format!(r#"http = [{{ allow = "{}" }}]"#, origin(request)))
            }
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
        Self { remedy: to_allow(plugin, &line), capability, reason }
    }

    /// The path is in a directory that was granted for reading only, at `guest`.
    pub fn read_only(plugin: &PluginId, capability: Capability, guest: &str) -> Self {
        let remedy = to_allow(plugin, &filesystem_line(guest, Access::Write));
        Self { capability, reason: "may only be read", remedy }
    }

    /// The path is in a granted directory, but what it names is not.
    pub fn leads_outside(capability: Capability) -> Self {
        let remedy =
            "It is in a granted directory but leads out of it, by a link or `..`; grant the directory it leads to";
        Self { capability, reason: "leads outside the granted directories", remedy: remedy.to_owned() }
    }

    /// The request is granted, but its host's address is none that this grant reaches.
    pub fn out_of_reach(plugin: &PluginId, request: String, reach: Reach) -> Self {
        let capability = Capability::Http { request };
        let (reason, remedy) = match reach {
            Reach::Public | Reach::Private(_) => (
                "leads into a private network or to this machine",
                format!(
                    "To allow it, put `private = true` into the line of `http` under [{}.grants] that names this host, and this host alone",
                    plugin.table()
                ),
            ),
            Reach::Never(_) => (
                "leads to an address that no plugin may reach, such as a metadata service or reserved space",
                "No grant allows that".to_owned(),
            ),
        };
        Self { capability, reason, remedy }
    }

    /// The secret may be told to this host, but not so that others can listen.
    pub fn in_the_clear(name: &str, host: &str) -> Self {
        let capability = Capability::Secrets { name: name.to_owned(), host: host.to_owned() };
        let remedy =
            "A secret is sent over TLS only, or to this machine: have the plugin ask for an https URL".to_owned();
        Self { capability, reason: "would be sent unencrypted", remedy }
    }

    /// The plugin's own directory would hold more than `limit` bytes.
    pub fn scratch_full(plugin: &PluginId, limit: u64) -> Self {
        let more = ByteSize(limit.saturating_mul(2));
        let remedy = to_allow(plugin, &format!("scratch = {{ size = \"{more}\" }}"));
        Self { capability: Capability::Scratch, reason: "is full", remedy }
    }

    /// The call has made files in directories that were granted for writing grow by `limit` bytes.
    pub fn written_enough(plugin: &PluginId, limit: u64) -> Self {
        let capability = Capability::Filesystem { path: "granted directories".to_owned(), access: Access::Write };
        let remedy = format!("A call gets {}; limits.growth under [{}] sets it", ByteSize(limit), plugin.table());
        Self { capability, reason: "would grow by more than a call may write", remedy }
    }

    /// The operator granted it, but the plugin's manifest never asked for it.
    pub fn not_requested(plugin: &PluginId, capability: Capability) -> Self {
        let remedy = format!(
            "It is granted, but the manifest of `{}` does not request it: only a build of the plugin that requests {} can use the grant",
            plugin.name,
            capability.key(),
        );
        Self { capability, reason: "is not requested by the plugin", remedy }
    }
}

fn to_allow(plugin: &PluginId, line: &str) -> String {
    format!("To allow it: {}", grant_command(plugin, line))
}

/// The command that grants this line, for a shell. It names no file: a denial is also told to guests and clients, who
/// need not know where the configuration is.
pub fn grant_command(plugin: &PluginId, line: &str) -> String {
    format!("portcullis grant {} '{}'", plugin.handle(), line.replace('\'', r"'\''"))
}

fn filesystem_line(guest: &str, access: Access) -> String {
    format!(r#"filesystem = [{{ host = "<directory>", guest = {}, access = "{access}" }}]"#, quoted(guest))
}

/// A basic string of TOML.
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

/// A flow to offer in a remedy. Both sides are names out of the configuration; anything else is not passed on.
fn known(flow: &str) -> &str {
    match super::FlowPattern::new(flow) {
        Ok(_) if flow.chars().all(|c| c.is_ascii_alphanumeric() || " .->_".contains(c)) => flow,
        _ => "<from> -> <to>",
    }
}

/// A name to offer in a remedy, likewise.
fn word(name: &str) -> &str {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.len() <= 128 && !name.is_empty() && name.chars().all(plain) { name } else { "<name>" }
}

/// The pattern to offer in a remedy: method and server of the request that was refused.
fn origin(request: &str) -> String {
    let (method, url) = request.split_once(' ').unwrap_or(("GET", request));
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let text = format!("{method} {scheme}://{}/", rest.split('/').next().unwrap_or_default());
    match super::HttpPattern::new(&text) {
        Ok(_) => text,
        Err(_) => "GET https://<host>/".to_owned(),
    }
}

/// The folder to offer in a remedy: the first component of an absolute path. A guest chose this text and an operator may
/// paste it, so anything unusual is replaced by a placeholder.
fn folder_of(path: &str) -> String {
    let first = path.split('/').find(|part| !part.is_empty() && *part != "." && *part != "..");
    let plain = |part: &str| part.len() <= 64 && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    match first {
        Some(part) if plain(part) => format!("/{part}"),
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
            denial.to_string(),
            "denied: agent-tools `notes.add` is not granted. To allow it: portcullis grant files 'agent-tools = [\"notes.add\"]'"
        );
        let path = Capability::Filesystem { path: "/etc/passwd".into(), access: Access::Read };
        assert!(
            Denial::not_granted(&files(), path)
                .to_string()
                .ends_with("'filesystem = [{ host = \"<directory>\", guest = \"/etc\", access = \"read\" }]'")
        );
    }

    #[test]
    fn an_agent_tool_has_its_side_in_its_name() {
        let notes = PluginId { side: Side::Agent, name: "notes".into() };
        let remedy = Denial::not_granted(&notes, Capability::State).remedy;
        assert_eq!(remedy, "To allow it: portcullis grant agent.notes 'state = {}'");
    }

    /// What stands between the outer quotes is one word for a shell and one line for the host.
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
