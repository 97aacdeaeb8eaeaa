//! What all loaded plugins and upstream servers offer.

mod build;
mod current;
mod entry;
mod error;
mod missing;
mod plugin;
mod snapshot;
#[cfg(test)]
mod tests;
mod upstream_tool;

pub use current::CurrentCatalog;
pub use entry::CatalogEntry;
pub use error::CatalogError;
pub use missing::{Missing, MissingPlugins};
pub use plugin::Plugin;
pub(crate) use plugin::PluginTraffic;
pub use snapshot::{Catalog, CatalogRules};
pub use upstream_tool::{UpstreamOffers, UpstreamTool};
