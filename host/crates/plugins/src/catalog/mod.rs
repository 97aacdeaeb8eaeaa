//! What all loaded plugins and upstream servers offer.

mod build;
mod current;
mod entry;
mod error;
mod item_request;
mod missing;
mod plugin;
mod resource_owner;
mod snapshot;
#[cfg(test)]
mod tests;
mod upstream_names;
mod upstream_server;
mod upstream_tool;

pub use current::CurrentCatalog;
pub use entry::CatalogEntry;
pub use error::CatalogError;
pub use item_request::ItemRequest;
pub use missing::{Missing, MissingPlugins};
pub use plugin::Plugin;
pub(crate) use plugin::PluginTraffic;
pub use resource_owner::{ResourceOwner, UPSTREAM_ADDRESSES, upstream_address};
pub use snapshot::{Catalog, CatalogRules};
pub use upstream_server::{ListedItem, ServerAnswer, ServerOutcome, ServerRequests, UpstreamItem, UpstreamServer};
pub use upstream_tool::{UpstreamOffers, UpstreamTool};
