//! What an agent is to do: with which model and server, and where.

use crate::agents::model::Model;
use crate::journey::Access;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// What the agents call the server.
pub(super) const SERVER: &str = "gate";
/// The prompt. The model follows its script whatever it says.
pub(super) const PROMPT: &str = "Go through the journey.";

/// What an agent is to do.
pub(crate) struct Task<'a> {
    /// The folder of its files.
    pub(crate) home: &'a Path,
    pub(crate) model: &'a Model,
    pub(crate) server: &'a Access,
}

impl Task<'_> {
    /// Writes a file below the agent's folder.
    pub(super) fn write(&self, name: &str, content: impl ToString) -> PathBuf {
        let path = self.home.join(name);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("the agent's folder");
        fs::write(&path, content.to_string()).expect("the agent's configuration");
        path
    }

    /// The server as configurations in JSON have it: `started` with `command` and `args`, or `reached` with its URL under this key.
    pub(super) fn server(&self, started: Value, reached: Value, url_key: &str) -> Value {
        match self.server {
            Access::Stdio(words) => with(started, [("command", json!(words[0])), ("args", json!(words[1..]))]),
            Access::Http(url) => with(reached, [(url_key, json!(url))]),
        }
    }

    /// The server in TOML.
    pub(super) fn server_in_toml(&self) -> String {
        match self.server {
            Access::Stdio(words) => format!("command = {:?}\nargs = {:?}", words[0], &words[1..]),
            Access::Http(url) => format!("url = {url:?}"),
        }
    }

    /// The address of a model that speaks one of the protocols of OpenAI.
    pub(super) fn openai(&self) -> String {
        self.model.url("/v1")
    }
}

fn with<const N: usize>(mut object: Value, members: [(&str, Value); N]) -> Value {
    for (name, value) in members {
        object[name] = value;
    }
    object
}
