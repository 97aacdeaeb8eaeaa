//! Everything a component says it offers.

use super::{Prompt, ResourceInfo, ResourceTemplate, Tool};
use serde::{Deserialize, Serialize};

/// As the component listed it, unchecked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// Tools.
    pub tools: Vec<Tool>,
    /// Resources.
    pub resources: Vec<ResourceInfo>,
    /// Resource templates.
    pub templates: Vec<ResourceTemplate>,
    /// Prompts.
    pub prompts: Vec<Prompt>,
    /// Whether it has suggestions for arguments.
    pub completes: bool,
}
