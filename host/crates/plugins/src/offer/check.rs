//! Checks everything that a component offers.

use super::checked::CheckedOffer;
use super::definitions::definitions_digest;
use super::error::OfferError;
use super::limits::MAX_PROSE;
use super::suspicion::{self, find_suspicions};
use super::{prompts, resources, tools};
use runtime::imports::Offer;

/// Checks an offer and compiles its schemas and templates.
pub(crate) fn check(offer: Offer) -> Result<CheckedOffer, OfferError> {
    match suspicion::titles_and_descriptions(&offer).iter().map(|(_, text)| text.len()).sum() {
        size if size > MAX_PROSE => return Err(OfferError::TooMuchProse { size }),
        _ => {}
    }
    let (definitions, suspicions) = (definitions_digest(&offer), find_suspicions(&offer));
    let Offer { tools, resources, templates, prompts, completes } = offer;
    if tools.is_empty() && resources.is_empty() && templates.is_empty() && prompts.is_empty() {
        return Err(OfferError::Empty);
    }
    Ok(CheckedOffer {
        tools: tools::check(tools)?,
        resources: resources::check(resources)?,
        templates: resources::check_templates(templates)?,
        prompts: prompts::check(prompts)?,
        completes,
        definitions,
        suspicions,
    })
}
