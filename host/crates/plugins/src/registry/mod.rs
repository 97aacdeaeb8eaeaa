//! Installed plugins: loading them, what they offer, and running calls on them.

mod answer;
mod beyond;
mod breaker;
mod catalog;
mod current;
mod flight;
mod gate;
mod idle;
mod load;
mod offer;
mod plugin;
mod provided;
mod reload;
mod runner;
mod scratch;
mod template;
mod uri;
mod waiting;
mod watch;
mod witness;

pub use answer::{Answer, Finished, Structured, Usage};
pub use beyond::Beyond;
pub use catalog::{Catalog, CatalogError, Exposed};
pub use current::CurrentCatalog;
pub use load::{Examined, LoadError, Loader, Reason};
pub use offer::{OfferError, Suspicion, definitions, plain, plain_object, suspicions};
pub use plugin::{Plugin, PluginTemplate, PluginTool};
pub use provided::Pieces;
pub use reload::{Reloader, Reread, Wanted};
pub use runner::{CallRequest, Parent, Purse, Runner};
pub use template::UriTemplate;
pub use watch::FileWatch;
