//! Plugins of strangers: brought here from where they are published, looked at, agreed to, and kept by digest.

mod disk;
mod found;
mod lock;

pub use found::{FetchError, Found, Signer, Source};
pub use lock::{Entry, Held, Lock, LockError, Version, lock_path};
