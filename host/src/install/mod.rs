//! Plugins of strangers: brought here from where they are published, looked at, agreed to, and kept by digest.

mod disk;
mod file;
mod found;
mod lock;
mod reference;
mod settings;
mod sources;

pub use found::{FetchError, Found, Signer, Source};
pub use lock::{Entry, Held, Lock, LockError, Version, lock_path};
pub use reference::{OciName, Reference, ReferenceError};
pub use settings::{Identity, SignaturePolicy, SourceSettings, SourceTables};
pub use sources::Sources;
