//! Plugins of strangers: brought here from where they are published, looked at, agreed to, and kept by digest.

mod compare;
mod credentials;
mod disk;
mod file;
mod found;
pub mod lines;
mod lock;
mod oci;
mod order;
mod plugins;
mod proposal;
mod reference;
mod review;
mod settings;
mod signature;
mod sources;
mod store;
mod web;
pub mod words;

pub use compare::{Change, Verdict, changes, judge};
pub use found::{FetchError, Found, Signer, Source};
pub use lock::{Entry, Held, Lock, LockError, Version, lock_path};
pub use plugins::{InstallError, Plugins, Updated};
pub use proposal::{Proposal, news, proposals};
pub use reference::{OciName, Reference, ReferenceError};
pub use review::{Candidate, review, texts};
pub use settings::{Identity, SignaturePolicy, SourceSettings, SourceTables};
pub use signature::{Evidence, SignatureError, Simple, trusted_comment};
pub use sources::{Sources, pack, signature_file};
pub use store::{Store, StoreError};

/// What a signature's text becomes.
type Kind = fn(String) -> Evidence;

/// The endings of signatures that lie beside a component.
const BESIDE: [(&str, Kind); 2] = [(".minisig", Evidence::Minisign), (".sigstore.json", Evidence::Bundle)];
