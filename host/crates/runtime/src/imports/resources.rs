//! `resources`: resources that a plugin offers.

use super::types::{Annotations, Icon, ToolError};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResourceInfo {
    pub uri: String,
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime_type: Option<String>,
    /// Bytes.
    pub size: Option<u64>,
    pub annotations: Option<Annotations>,
    pub icons: Vec<Icon>,
}

/// Resources whose URIs follow a pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResourceTemplate {
    /// RFC 6570, simple expansion only.
    pub uri_template: String,
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime_type: Option<String>,
    pub annotations: Option<Annotations>,
    pub icons: Vec<Icon>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ReadError {
    NotFound,
    Failed(ToolError),
}
