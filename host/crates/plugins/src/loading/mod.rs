//! Loading plugins: from configuration to a [`Plugin`](crate::catalog::Plugin), and again when files change.

mod argument_keys;
mod error;
mod loader;
mod reload;
mod wanted;
mod watch;

pub use error::{LoadError, LoadErrorKind};
pub use loader::{ExaminedComponent, Loader};
pub use reload::{PluginReloader, PluginSet, ReadPluginSet};
