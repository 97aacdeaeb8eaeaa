//! What the tools take. The host has checked the arguments against the schemas of `describe` already.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::portcullis::plugin::types::ToolError;

#[derive(Deserialize)]
pub(crate) struct Echo {
    pub(crate) text: String,
}

#[derive(Deserialize)]
pub(crate) struct Count {
    pub(crate) n: u64,
}

#[derive(Deserialize)]
pub(crate) struct Chunks {
    pub(crate) n: u64,
    pub(crate) bytes: usize,
}

pub(crate) fn parse<T: DeserializeOwned>(arguments: &str) -> Result<T, ToolError> {
    serde_json::from_str(arguments).map_err(|error| ToolError::InvalidArguments(error.to_string()))
}
