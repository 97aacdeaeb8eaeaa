//! Plugins of strangers: brought here from where they are published, looked at, agreed to, and kept by digest.

mod file;
mod found;
mod reference;
mod settings;
mod sources;

pub use found::{FetchError, Found, Signer, Source};
pub use reference::{OciName, Reference, ReferenceError};
pub use settings::{Identity, SignaturePolicy, SourceSettings, SourceTables};
pub use sources::Sources;
