//! Loading plugins: from configuration to a [`Plugin`](crate::catalog::Plugin), and again when files change.

mod error;
mod loader;
mod reload;
mod watch;

pub use error::{LoadError, LoadErrorKind};
pub use loader::{ExaminedComponent, Loader};
pub use reload::{PluginSet, ReadPluginSet, Reloader};
pub use watch::FileWatch;
