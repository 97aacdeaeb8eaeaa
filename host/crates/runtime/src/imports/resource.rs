//! Resources that a plugin offers for reading, as in WIT `resources`.

use super::{Annotations, Icon, ToolError};
use serde::{Deserialize, Serialize};

/// A resource as its plugin describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResourceInfo {
    /// Its address.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Media type.
    pub mime_type: Option<String>,
    /// Bytes.
    pub size: Option<u64>,
    /// Hints.
    pub annotations: Option<Annotations>,
    /// Pictures.
    pub icons: Vec<Icon>,
}

/// Resources whose addresses follow a pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResourceTemplate {
    /// RFC 6570, simple expansion only.
    pub uri_template: String,
    /// Its name.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// What they are.
    pub description: Option<String>,
    /// Media type of them all.
    pub mime_type: Option<String>,
    /// Hints.
    pub annotations: Option<Annotations>,
    /// Pictures.
    pub icons: Vec<Icon>,
}

/// Why a resource was not read.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadError {
    /// There is none.
    NotFound,
    /// It cannot be read.
    Failed(ToolError),
}
