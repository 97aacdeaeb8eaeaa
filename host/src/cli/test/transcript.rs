//! A transcript: what is called, what others answer meanwhile, and what is expected. One TOML file.

use anyhow::Context;
use policy::{Grants, Limits};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes of one file. A transcript is written by hand, or by `--update` from one.
const MAX_BYTES: u64 = 8 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Transcript {
    #[serde(default)]
    pub(super) grants: Grants,
    #[serde(default)]
    pub(super) limits: Limits,
    #[serde(default)]
    pub(super) call: Vec<TestCall>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct TestCall {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) arguments: BTreeMap<String, Value>,
    /// To questions, in their order.
    #[serde(default)]
    pub(super) answers: Vec<Reply>,
    /// Of tools of the agent, in the order of the calls.
    #[serde(default)]
    pub(super) tools: Vec<ToolReply>,
    /// Of servers, in the order of the requests.
    #[serde(default)]
    pub(super) http: Vec<HttpReply>,
    /// Each key that is there is compared.
    #[serde(default)]
    pub(super) expect: BTreeMap<String, Value>,
}

/// What a user or a model answers.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Reply {
    /// A form that the user has filled in.
    Form(Value),
    /// The user goes to a page.
    Visit,
    Decline,
    Cancel,
    /// The text of a model.
    Model(String),
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ToolReply {
    pub(super) name: String,
    /// An object is the structured result, anything else its text.
    pub(super) result: Option<Value>,
    /// In the place of a result: what the tool says of its failure.
    pub(super) error: Option<String>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct HttpReply {
    /// Method and address, such as `GET https://example.com/page`.
    pub(super) request: String,
    #[serde(default = "ok")]
    pub(super) status: u16,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) body: String,
}

fn ok() -> u16 {
    200
}

impl Transcript {
    /// Reads and checks a file; returns its text, too.
    pub(super) fn read(file: &Path) -> anyhow::Result<(Self, String)> {
        let size = std::fs::metadata(file).with_context(|| format!("cannot read {}", file.display()))?.len();
        anyhow::ensure!(size <= MAX_BYTES, "{} has {size} bytes, more than {MAX_BYTES}", file.display());
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let mut transcript: Self = toml::from_str(&text).with_context(|| format!("{}", file.display()))?;
        anyhow::ensure!(!transcript.call.is_empty(), "{} calls nothing: it needs a [[call]]", file.display());
        transcript.grants.check().map_err(anyhow::Error::msg).with_context(|| format!("{}", file.display()))?;
        transcript.limits.check().with_context(|| format!("{}", file.display()))?;
        // As in a configuration: relative to the file.
        let folder = std::path::absolute(file)?.parent().map(Path::to_owned).unwrap_or_default();
        for mount in &mut transcript.grants.filesystem {
            mount.host = folder.join(&mount.host);
        }
        Ok((transcript, text))
    }
}
