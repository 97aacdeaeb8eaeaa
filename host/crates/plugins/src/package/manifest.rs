//! The manifest of a plugin, in the custom section `portcullis:manifest`.

use policy::{Requests, Survive, is_name};
use serde::{Deserialize, Serialize};

/// A component without a manifest has no name of its own and requests nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Manifest {
    /// The operator may configure the plugin under another name.
    pub name: String,
    pub version: String,
    /// One sentence for the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What the steps of its tasks should survive, if that is more than for the host's other tasks. The operator's setting
    /// wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub survive: Option<Survive>,
    #[serde(default)]
    pub requests: Requests,
}

impl Manifest {
    /// The custom section with the manifest as JSON.
    pub const SECTION: &str = "portcullis:manifest";
    /// The custom section with the version of the WIT package that the plugin was built for.
    pub const API_SECTION: &str = "portcullis:api";
    /// Bounds what an operator is shown.
    const MAX_BYTES: usize = 64 << 10;

    /// Parses the content of the section.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > Self::MAX_BYTES {
            return Err(format!("it is larger than {} KiB", Self::MAX_BYTES >> 10));
        }
        let manifest: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        for text in [Some(&manifest.name), Some(&manifest.version), manifest.description.as_ref()].into_iter().flatten()
        {
            if text.chars().any(char::is_control) {
                return Err("a text in it has control characters".into());
            }
        }
        let Requests { secrets, env, connections, agent_tools, events, .. } = &manifest.requests;
        // Operators read these names and copy them into a shell.
        for name in [secrets, env, connections].into_iter().flatten() {
            if !is_name(name, 64, "._-") {
                return Err("a requested name is not 1 to 64 of A-Z a-z 0-9 . _ -".into());
            }
        }
        let patterns = agent_tools.iter().chain(events);
        if patterns.into_iter().any(|pattern| !pattern.as_str().bytes().all(|byte| byte.is_ascii_graphic())) {
            return Err("a requested pattern has characters that are not printable ASCII".into());
        }
        Ok(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_and_control_characters_are_refused() {
        let good = r#"{"name":"a","version":"1.0.0","requests":{"filesystem":"read","agent-tools":["notes.*"]}}"#;
        assert_eq!(Manifest::parse(good.as_bytes()).unwrap().requests.agent_tools.len(), 1);
        assert!(Manifest::parse(br#"{"name":"a","version":"1","requests":{"network":true}}"#).is_err());
        assert!(Manifest::parse(br#"{"name":"a","version":"1","root":true}"#).is_err());
        assert!(Manifest::parse(br#"{"name":"a","version":"1","survive":"anything"}"#).is_err());
        assert!(Manifest::parse(b"{\"name\":\"a\\u001b[2J\",\"version\":\"1\"}").is_err());
        for request in
            [r#""env":["A B"]"#, r#""secrets":["a\u202e"]"#, r#""connections":[""]"#, r#""agent-tools":["a.\u200b"]"#]
        {
            let text = format!(r#"{{"name":"a","version":"1","requests":{{{request}}}}}"#);
            assert!(Manifest::parse(text.as_bytes()).is_err(), "{request}");
        }
    }
}
