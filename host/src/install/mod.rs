//! Plugins of strangers: brought here from where they are published, looked at, agreed to, and kept by digest.

mod found;

pub use found::{FetchError, Found, Signer, Source};
