//! What a component says it offers, checked before any client sees it: a guest wrote these texts, a model will read them.

mod check;
mod checked;
mod definitions;
mod error;
mod limits;
mod list;
mod nulls;
mod portability;
mod prompts;
mod resources;
mod suspicion;
#[cfg(test)]
pub(crate) mod testing;
mod text;
mod tools;
mod uri;
mod uri_template;

pub(crate) use check::check;
pub(crate) use checked::CheckedOffer;
pub use checked::{PluginTemplate, PluginTool};
pub use definitions::definitions_digest;
pub use error::OfferError;
pub use portability::find_unportable;
pub use suspicion::{Suspicion, find_suspicions};
pub(crate) use text::is_valid_name;
pub use text::{check_object_texts, check_text};
pub(crate) use uri::check as check_uri;
pub use uri_template::UriTemplate;
