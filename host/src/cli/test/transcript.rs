//! A transcript: what is called, what others answer meanwhile, and what is expected. One TOML file.

use super::client_kind::ClientKind;
use super::fits_toml::fits_toml;
use super::http_reply::HttpReply;
use super::reply::Reply;
use super::tool_reply::ToolReply;
use anyhow::Context;
use policy::{Grants, Limits};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// Largest file, in bytes. A transcript is written by hand, or by `--update` from such a one, and is smaller.
pub(super) const MAX_BYTES: u64 = 8 << 20;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct TestTranscript {
    /// The name of the plugin, as it appears in published resources and denials.
    #[serde(default = "tested")]
    pub(super) plugin: String,
    #[serde(default)]
    pub(super) grants: Grants,
    #[serde(default)]
    pub(super) limits: Limits,
    #[serde(default)]
    pub(super) call: Vec<TestCall>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct TestCall {
    pub(super) tool: String,
    /// A table; or JSON text, for values that TOML cannot express.
    #[serde(default, with = "arguments", skip_serializing_if = "Map::is_empty")]
    pub(super) arguments: Map<String, Value>,
    /// What the client can be asked; by default all that a transcript can answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<Vec<ClientKind>>,
    /// Answers to questions, in the order of the questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) answers: Vec<Reply>,
    /// Answers of the agent's tools, in the order of the calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<ToolReply>,
    /// Answers of servers, in the order of the requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) http: Vec<HttpReply>,
    /// What is expected. Only the keys that are present are compared.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) expect: BTreeMap<String, Value>,
}

fn tested() -> String {
    "tested".to_owned()
}

impl TestTranscript {
    /// Reads and checks a file; returns its text, too.
    pub(super) fn read(file: &Path) -> anyhow::Result<(Self, String)> {
        let size = std::fs::metadata(file).with_context(|| format!("cannot read {}", file.display()))?.len();
        anyhow::ensure!(size <= MAX_BYTES, "{} has {size} bytes, more than {MAX_BYTES}", file.display());
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok((Self::parse(&text, file)?, text))
    }

    /// Checks the text of a file. Tables keep the order in which they are written.
    pub(super) fn parse(text: &str, file: &Path) -> anyhow::Result<Self> {
        let mut transcript: Self = toml_edit::de::from_str(text).with_context(|| format!("{}", file.display()))?;
        anyhow::ensure!(!transcript.call.is_empty(), "{} calls nothing: it needs a [[call]]", file.display());
        transcript.grants.check().map_err(anyhow::Error::msg).with_context(|| format!("{}", file.display()))?;
        transcript.limits.check().with_context(|| format!("{}", file.display()))?;
        for call in &transcript.call {
            let checks = call.tools.iter().map(ToolReply::check).chain(call.http.iter().map(HttpReply::check));
            checks
                .collect::<Result<(), _>>()
                .map_err(anyhow::Error::msg)
                .with_context(|| format!("{}", file.display()))?;
        }
        // Paths are relative to the file, as in a configuration.
        let folder = std::path::absolute(file)?.parent().map(Path::to_owned).unwrap_or_default();
        for mount in &mut transcript.grants.filesystem {
            mount.host = folder.join(&mount.host);
        }
        Ok(transcript)
    }
}

mod arguments {
    use super::{Map, Value, fits_toml};
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(fields: &Map<String, Value>, serializer: S) -> Result<S::Ok, S::Error> {
        match fields.values().all(fits_toml) {
            true => fields.serialize(serializer),
            false => serializer.collect_str(&Value::Object(fields.clone())),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
        let parsed = match Value::deserialize(deserializer)? {
            Value::Object(fields) => Ok(fields),
            Value::String(text) => serde_json::from_str(&text).map_err(|error| error.to_string()),
            _ => Err("it is neither".to_owned()),
        };
        parsed.map_err(|why| D::Error::custom(format!("`arguments` must be a table, or a JSON object as text: {why}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_are_a_table_or_json() {
        let call = |arguments: Value| TestCall {
            tool: "run".into(),
            arguments: arguments.as_object().cloned().unwrap_or_default(),
            client: None,
            answers: vec![],
            tools: vec![],
            http: vec![],
            expect: BTreeMap::new(),
        };
        for (arguments, is_table) in [
            (json!({"n": 1, "a": {"z": [1.5, "x"], "b": true}}), true),
            (json!({"n": null}), false),
            (json!({"n": [u64::MAX]}), false),
            (json!({}), true),
        ] {
            let call = call(arguments);
            let text = toml_edit::ser::to_string(&call).unwrap();
            assert_eq!(!text.contains("arguments = '"), is_table, "{text}");
            let read: TestCall = toml_edit::de::from_str(&text).unwrap();
            assert_eq!(read, call, "{text}");
            let order = |call: &TestCall| Value::from(call.arguments.clone()).to_string();
            assert_eq!(order(&read), order(&call));
        }
        let wrong = toml_edit::de::from_str::<TestCall>("tool = \"run\"\narguments = \"[]\"").unwrap_err();
        assert!(wrong.to_string().contains("a JSON object as text"), "{wrong}");
    }
}
