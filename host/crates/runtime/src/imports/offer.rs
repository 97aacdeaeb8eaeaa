//! Everything that a component offers.

use super::prompts::Prompt;
use super::resources::{ResourceInfo, ResourceTemplate};
use super::types::Tool;
use serde::{Deserialize, Serialize};

/// As the component listed it, unchecked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    pub tools: Vec<Tool>,
    pub resources: Vec<ResourceInfo>,
    pub templates: Vec<ResourceTemplate>,
    pub prompts: Vec<Prompt>,
    /// Whether it exports `completions`.
    pub completes: bool,
}
