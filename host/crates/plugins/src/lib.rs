//! Plugins: from bytes to something callable, and every call of it.

pub mod install;
mod local;
mod nobody;
pub mod package;
pub mod registry;
mod together;

pub use local::LocalAgent;
pub use nobody::Nobody;
pub use together::Together;
