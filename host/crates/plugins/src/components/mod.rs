//! Components: what one is, found out once and kept in the cache, and its code, loaded when it is first called. Plugins
//! with the same bytes share both; nothing here knows a configuration.

mod code;
mod description;
mod error;
mod file_index;
mod library;
mod preparation;
mod single_flight;

pub use code::PluginCode;
pub(crate) use description::Description;
pub use description::HostBuild;
pub use error::ComponentError;
pub use library::ComponentLibrary;
