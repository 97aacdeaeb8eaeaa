//! Installed plugins: loading them, what they offer, and running calls on them.

mod answer;
mod catalog;
mod idle;
mod load;
mod offer;
mod plugin;
mod runner;
mod waiting;

pub use answer::{Answer, Finished, Structured, Usage};
pub use catalog::{Catalog, CatalogError, Exposed};
pub use load::{LoadError, Loader};
pub use offer::OfferError;
pub use plugin::{Plugin, PluginTool};
pub use runner::{CallRequest, Parent, Runner};
