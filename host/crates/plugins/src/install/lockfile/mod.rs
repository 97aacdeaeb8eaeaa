//! The lock file beside the configuration, `portcullis.lock`: which plugins are installed, from where, signed by whom and
//! with which grants.
//!
//! It belongs to the operator, as the configuration does: grants and limits may be edited by hand and are checked when the
//! file is read. It does not decide alone which bytes are loaded: a component must have the digest that is written here,
//! and offer what it offered when it was approved.

mod document;
mod guard;
mod installed_plugin;
mod read;

pub use document::{Lockfile, LockfileError, lockfile_path};
pub use guard::LockfileGuard;
pub use installed_plugin::{InstalledPlugin, PluginVersion};

#[cfg(test)]
mod tests;
