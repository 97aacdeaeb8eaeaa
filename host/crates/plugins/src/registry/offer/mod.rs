//! What a component says it offers, checked before any client sees it. A guest wrote these texts, a model will read them.

mod definitions;
mod prompts;
mod resources;
mod suspicion;
#[cfg(test)]
pub(super) mod testing;
mod tools;
mod words;

use super::plugin::{PluginTemplate, PluginTool};

use policy::Digest;
use runtime::imports::{Offer, Prompt, ResourceInfo, SchemaError};
use words::MAX_NAME;

pub use definitions::definitions;
pub use suspicion::{Suspicion, suspicions};
pub(super) use words::is_name;
pub use words::{plain, plain_object};

/// Bytes of all texts of one kind of offer: they are sent to every client and read by every model.
const MAX_TEXT: usize = 256 << 10;

/// Bytes of all titles and descriptions of a plugin together. Bounds what one plugin takes of every model's attention.
const MAX_PROSE: usize = 64 << 10;

/// An offer that is not accepted, and why.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum OfferError {
    #[error("it offers nothing: no tool, no resource, no resource template, no prompt")]
    Nothing,
    #[error("it offers {count} {what}, more than {limit}")]
    TooMany { what: &'static str, count: usize, limit: usize },
    #[error("its {what}' texts are {size} bytes in all, more than {MAX_TEXT}")]
    TooMuchText { what: &'static str, size: usize },
    #[error("the {what} name {name:?} is not 1 to {MAX_NAME} of A-Z a-z 0-9 _ -")]
    Name { what: &'static str, name: String },
    #[error("it offers two {what} named `{name}`")]
    Twice { what: &'static str, name: String },
    #[error("the {what} of {of} {problem}")]
    Text { of: String, what: &'static str, problem: String },
    #[error("the {which} schema of tool `{tool}` is refused: {error}")]
    Schema { tool: String, which: &'static str, error: SchemaError },
    #[error("the {which} schema of tool `{tool}` is refused: {place}")]
    SchemaText { tool: String, which: &'static str, place: String },
    #[error("its titles and descriptions are {size} bytes in all, more than {MAX_PROSE}")]
    TooMuchProse { size: usize },
}

/// What a plugin offers, checked: each list sorted, so that lists never depend on a guest's mood.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) tools: Vec<PluginTool>,
    pub(super) resources: Vec<ResourceInfo>,
    pub(super) templates: Vec<PluginTemplate>,
    pub(super) prompts: Vec<Prompt>,
    pub(super) completes: bool,
    pub(super) definitions: Digest,
    pub(super) suspicions: Vec<Suspicion>,
}

/// Checks and compiles what a component listed.
pub(super) fn check(offer: Offer) -> Result<Offered, OfferError> {
    match suspicion::texts(&offer).iter().map(|(_, text)| text.len()).sum() {
        size if size > MAX_PROSE => return Err(OfferError::TooMuchProse { size }),
        _ => {}
    }
    let (definitions, suspicions) = (definitions(&offer), suspicions(&offer));
    let Offer { tools, resources, templates, prompts, completes } = offer;
    if tools.is_empty() && resources.is_empty() && templates.is_empty() && prompts.is_empty() {
        return Err(OfferError::Nothing);
    }
    Ok(Offered {
        tools: tools::check(tools)?,
        resources: resources::check(resources)?,
        templates: resources::check_templates(templates)?,
        prompts: prompts::check(prompts)?,
        completes,
        definitions,
        suspicions,
    })
}

/// Bounds how many there are and how long they are together.
fn bounded<T>(what: &'static str, items: &[T], limit: usize, size: impl Fn(&T) -> usize) -> Result<(), OfferError> {
    if items.len() > limit {
        return Err(OfferError::TooMany { what, count: items.len(), limit });
    }
    match items.iter().map(size).sum() {
        size if size > MAX_TEXT => Err(OfferError::TooMuchText { what, size }),
        _ => Ok(()),
    }
}

/// Sorts by a key that may be there once only.
fn sorted<T>(what: &'static str, mut items: Vec<T>, key: impl Fn(&T) -> &str) -> Result<Vec<T>, OfferError> {
    items.sort_by(|a, b| key(a).cmp(key(b)));
    match items.windows(2).find(|pair| key(&pair[0]) == key(&pair[1])) {
        Some(pair) => Err(OfferError::Twice { what, name: key(&pair[0]).to_owned() }),
        None => Ok(items),
    }
}
