//! Settings of one upstream server, from `[upstream.NAME]` in the configuration.

use platform::outbound::Endpoint;
use platform::programs::{Program, ProgramStarter};
use policy::{Digest, Glob, ToolPattern};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The longest URI that is examined, in bytes; no listed one is longer. Bounds the work on URIs that clients make up.
const MAX_URI: usize = 2 << 10;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The protocol revisions to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolVersions {
    /// 2026-07-28, or 2025-11-25 if the server does not support it.
    #[default]
    Auto,
    /// 2025-11-25 and older.
    #[serde(rename = "2025-11-25")]
    Legacy,
}

/// Settings of a server that this process is a client of.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct UpstreamSettings {
    /// Its key in the configuration.
    #[serde(skip)]
    pub name: String,
    /// The server's program and its arguments. It speaks MCP on stdin and stdout.
    pub command: Vec<String>,
    /// Environment variables of the program, besides [`Self::inherited`].
    pub env: BTreeMap<String, String>,
    /// Variables of the host's environment that programs cannot do without, such as `PATH` and `HOME`.
    #[serde(skip)]
    pub inherited: Vec<(String, OsString)>,
    /// Who starts the program.
    #[serde(skip)]
    pub starter: ProgramStarter,
    /// The server's URL, in place of `command`.
    pub url: Option<Endpoint>,
    /// A file with the bearer token for `url`.
    pub key_file: Option<PathBuf>,
    /// The protocol revisions to try.
    pub protocol: ProtocolVersions,
    /// Time limit for one request. Time in which a question of the server is answered does not count.
    #[serde(with = "humantime_serde")]
    pub timeout: Option<Duration>,
    /// Whether results are private to the caller and the caller's client.
    pub private: bool,
    /// Patterns for the tools and prompts that clients of this host see, on the server's own names. Default: all.
    pub expose: Option<Vec<String>>,
    /// Patterns for the resources that clients of this host can read, on the server's own URIs. Default: all; none if
    /// [`Self::expose`] names what clients see.
    pub expose_resources: Option<Vec<Glob>>,
    /// Pins the tool definitions. When they differ, all tools of the server are hidden.
    pub definitions: Option<Digest>,
    /// The agent-side tools that the server may call, by full names. Default: none.
    pub offer: Vec<ToolPattern>,
    /// Patterns of `expose`, on full names.
    #[serde(skip)]
    pub(crate) exposed: Option<Vec<ToolPattern>>,
}

impl UpstreamSettings {
    /// Checks the settings and sets the name and the inherited variables. The error is a sentence.
    pub fn with_name(mut self, name: &str, inherited: Vec<(String, OsString)>) -> Result<Self, String> {
        match (self.command.first(), &self.url) {
            (None, None) => {
                return Err("needs `command = [\"program\", \"argument\"]` or `url = \"https://...\"`".into());
            }
            (Some(_), Some(_)) => return Err("has both `command` and `url`; a server is reached in one way".into()),
            (Some(program), None) if program.is_empty() => return Err("`command` names no program".into()),
            (Some(_), None) if self.key_file.is_some() => {
                return Err("`key-file` is for `url`; give a program its key in `env`".into());
            }
            (None, Some(_)) if !self.env.is_empty() => return Err("`env` is for `command`".into()),
            _ => {}
        }
        if let Some(timeout) = self.timeout
            && !(Duration::from_millis(1)..=Duration::from_secs(86_400)).contains(&timeout)
        {
            return Err("`timeout` must be between 1ms and 1day".into());
        }
        let pattern = |text: &String| ToolPattern::new(&format!("{name}.{text}")).map_err(|error| error.to_string());
        self.exposed = self.expose.as_ref().map(|all| all.iter().map(pattern).collect()).transpose()?;
        Ok(Self { name: name.to_owned(), inherited, ..self })
    }

    /// The program of `command`, with its arguments and environment.
    pub fn program(&self) -> Option<Program> {
        let (name, arguments) = self.command.split_first()?;
        let mut program = Program::new(name.clone(), arguments.to_vec());
        for (name, value) in &self.inherited {
            program = program.with_variable(name.as_ref(), value);
        }
        for (name, value) in &self.env {
            program = program.with_variable(name.as_ref(), value.as_ref());
        }
        Some(program)
    }

    /// Whether clients of this host see the tool or prompt.
    pub fn exposes(&self, name: &str) -> bool {
        let full = format!("{}.{name}", self.name);
        self.exposed.as_ref().is_none_or(|patterns| patterns.iter().any(|pattern| pattern.covers(&full)))
    }

    /// Whether clients of this host can read the resource.
    pub fn exposes_resource(&self, uri: &str) -> bool {
        match (&self.expose_resources, &self.expose) {
            (Some(patterns), _) => !leads_elsewhere(uri) && patterns.iter().any(|pattern| pattern.covers(uri)),
            (None, Some(_)) => false,
            (None, None) => true,
        }
    }

    /// The configured or default time limit for one request.
    pub fn request_timeout(&self) -> Duration {
        self.timeout.unwrap_or(DEFAULT_TIMEOUT)
    }

    /// The URL's origin or the program's name. Leaves out everything that may be a secret.
    pub fn address(&self) -> String {
        match (&self.url, self.command.first()) {
            (Some(url), _) => url.url().origin().ascii_serialization(),
            (None, program) => program.cloned().unwrap_or_default(),
        }
    }
}

/// Whether a server may resolve the URI to another one that was not matched against the patterns: one with a segment `.` or
/// `..`, however it is escaped.
fn leads_elsewhere(uri: &str) -> bool {
    if uri.len() > MAX_URI {
        return true;
    }
    let mut text = uri.to_owned();
    // Decoded repeatedly, because the result may contain another escaped character.
    while let Some(decoded) = decode_once(&text) {
        text = decoded;
    }
    text.split(['/', '\\', '?', '#', ':']).any(|segment| matches!(segment, "." | ".."))
}

/// The text with its first escaped character decoded; none if there is none.
fn decode_once(text: &str) -> Option<String> {
    let escaped = |at: usize| u8::from_str_radix(text.get(at + 1..at + 3)?, 16).ok().filter(u8::is_ascii);
    let (at, byte) = text.match_indices('%').find_map(|(at, _)| Some((at, escaped(at)?)))?;
    Some([&text[..at], char::from(byte).encode_utf8(&mut [0; 4]), &text[at + 3..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Result<UpstreamSettings, String> {
        let settings: UpstreamSettings = toml::from_str(text).map_err(|error| error.to_string())?;
        settings.with_name("up", vec![])
    }

    #[test]
    fn settings_are_checked() {
        for bad in [
            "",
            "command = []",
            "command = [\"\"]",
            "command = [\"x\"]\nurl = \"https://a.example/\"",
            "command = [\"x\"]\nkey-file = \"k\"",
            "url = \"https://a.example/\"\nenv = { A = \"b\" }",
            "url = \"http://a.example/\"",
            "command = [\"x\"]\ntimeout = \"0s\"",
            "command = [\"x\"]\nprotocol = \"older\"",
            "command = [\"x\"]\nallow = [\"*\"]",
            "command = [\"x\"]\nexpose = [\"[\"]",
            "command = [\"x\"]\noffer = [\"everything\"]",
        ] {
            assert!(named(bad).is_err(), "{bad}");
        }
        let program = named("command = [\"x\", \"y\"]\nexpose = [\"read_*\"]").unwrap();
        assert!(program.exposes("read_file") && !program.exposes("write_file"));
        let server = named("url = \"https://a.example/mcp?key=1\"").unwrap();
        assert!(server.exposes("anything"));
        assert_eq!(server.protocol, ProtocolVersions::Auto);
        assert_eq!(server.address(), "https://a.example");
        let resources =
            |settings: &str, uri: &str| named(&format!("command = [\"x\"]\n{settings}")).unwrap().exposes_resource(uri);
        assert!(resources("", "a:b/../c") && !resources("expose = [\"read\"]", "a:b"));
        let docs = "expose-resources = [\"file:///docs/*\"]";
        assert!(resources(docs, "file:///docs/a/b.md") && resources(docs, "file:///docs/a..b?c=%20"));
        for outside in ["file:///doc", "file:///docs/../a", "file:///docs/%2e%2E/a", "file:///docs/%252e%252e%255ca"] {
            assert!(!resources(docs, outside), "{outside}");
        }
        let older = named("command = [\"x\"]\nprotocol = \"2025-11-25\"").unwrap();
        assert_eq!(older.protocol, ProtocolVersions::Legacy);
    }
}
