//! Plugins of strangers: brought here from where they are published, looked at, agreed to, and kept by digest.

mod credentials;
mod file;
mod found;
mod oci;
mod reference;
mod settings;
mod signature;
mod sources;
mod web;

pub use found::{FetchError, Found, Signer, Source};
pub use reference::{OciName, Reference, ReferenceError};
pub use settings::{Identity, SignaturePolicy, SourceSettings, SourceTables};
pub use signature::{Evidence, SignatureError, trusted_comment};
pub use sources::{Sources, pack, signature_file};

/// The endings of signatures that lie beside a component.
const BESIDE: [(&str, fn(String) -> Evidence); 2] =
    [(".minisig", Evidence::Minisign), (".sigstore.json", Evidence::Bundle)];
