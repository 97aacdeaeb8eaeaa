//! Checks everything that a component offers.

use super::error::OfferError;
use super::limits::MAX_PROSE;
use super::suspicion;
use super::{prompts, resources, tools};
use runtime::imports::Offer;

/// Checks an offer, and sorts its lists.
pub(crate) fn check(offer: Offer) -> Result<Offer, OfferError> {
    match suspicion::titles_and_descriptions(&offer).iter().map(|(_, text)| text.len()).sum() {
        size if size > MAX_PROSE => return Err(OfferError::TooMuchProse { size }),
        _ => {}
    }
    let Offer { tools, resources, templates, prompts, completes } = offer;
    if tools.is_empty() && resources.is_empty() && templates.is_empty() && prompts.is_empty() {
        return Err(OfferError::Empty);
    }
    Ok(Offer {
        tools: tools::check(tools)?,
        resources: resources::check(resources)?,
        templates: resources::check_templates(templates)?,
        prompts: prompts::check(prompts)?,
        completes,
    })
}
