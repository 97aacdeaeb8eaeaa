//! Settings of one upstream server, as under `[upstream.NAME]`.

use platform::outbound::Endpoint;
use policy::{Digest, ToolPattern};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The longest that one request may take when nobody said otherwise.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Which revisions of the protocol are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Era {
    /// 2026-07-28, or 2025-11-25 with a server that does not know it.
    #[default]
    Auto,
    /// 2025-11-25 and older.
    Legacy,
}

/// A server that this process is a client of.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct UpstreamSettings {
    /// Its key in the configuration.
    #[serde(skip)]
    pub name: String,
    /// The program that is the server, on its stdin and stdout, and its arguments.
    pub command: Vec<String>,
    /// What the program finds in its environment, besides [`Self::inherited`].
    pub env: BTreeMap<String, String>,
    /// Of our own environment: what programs cannot do without, such as `PATH` and `HOME`, and nothing else.
    #[serde(skip)]
    pub inherited: Vec<(String, OsString)>,
    /// Or: where the server is.
    pub url: Option<Endpoint>,
    /// A file with the token that is sent there.
    pub key_file: Option<PathBuf>,
    /// Which revisions are tried.
    pub era: Era,
    /// How long a request may take; time in which somebody thinks about a question of the server does not count.
    #[serde(with = "humantime_serde")]
    pub timeout: Option<Duration>,
    /// Whether what its tools answer is for their caller and the caller's client only.
    pub private: bool,
    /// Which of its tools clients of this host see, by their own names; absent: all.
    pub expose: Option<Vec<String>>,
    /// What it must say of its tools, all of them; absent: what it likes. When it says anything else they are hidden.
    pub definitions: Option<Digest>,
    /// Which agent-side tools it may call, by their full names. None by default.
    pub offer: Vec<ToolPattern>,
    /// Patterns of `expose`, on full names.
    #[serde(skip)]
    pub(super) exposed: Option<Vec<ToolPattern>>,
}

impl UpstreamSettings {
    /// Under this name, checked; the error is a sentence. `inherited` is what a program finds in its environment.
    pub fn named(mut self, name: &str, inherited: Vec<(String, OsString)>) -> Result<Self, String> {
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

    /// Whether clients of this host see a tool.
    pub fn exposes(&self, tool: &str) -> bool {
        let full = format!("{}.{tool}", self.name);
        self.exposed.as_ref().is_none_or(|patterns| patterns.iter().any(|pattern| pattern.covers(&full)))
    }

    /// How long one request may take.
    pub fn patience(&self) -> Duration {
        self.timeout.unwrap_or(TIMEOUT)
    }

    /// Where it is, for people; without what may be a secret.
    pub fn place(&self) -> String {
        match (&self.url, self.command.first()) {
            (Some(url), _) => url.url().origin().ascii_serialization(),
            (None, program) => program.cloned().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Result<UpstreamSettings, String> {
        let settings: UpstreamSettings = toml::from_str(text).map_err(|error| error.to_string())?;
        settings.named("up", vec![])
    }

    #[test]
    fn one_way_to_reach_a_server() {
        for bad in [
            "",
            "command = []",
            "command = [\"\"]",
            "command = [\"x\"]\nurl = \"https://a.example/\"",
            "command = [\"x\"]\nkey-file = \"k\"",
            "url = \"https://a.example/\"\nenv = { A = \"b\" }",
            "url = \"http://a.example/\"",
            "command = [\"x\"]\ntimeout = \"0s\"",
            "command = [\"x\"]\nera = \"older\"",
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
        assert_eq!(server.place(), "https://a.example");
    }
}
