//! Installing third-party plugins: fetched from their source, verified, reviewed, approved, and stored by digest.

mod atomic_file;
mod compare;
mod credentials;
mod file_source;
pub mod grant_lines;
mod import_groups;
mod installer;
mod lockfile;
mod newest;
mod oci;
mod reference;
mod review;
mod semantic_version;
mod settings;
mod signature;
mod source;
mod sources;
mod store;
mod web_source;

pub use compare::{UpdateVerdict, VersionChange, compare_versions, judge_update};
pub use import_groups::group_imports;
pub use installer::{InstallError, Installer, UpdateOutcome};
pub use lockfile::{InstalledPlugin, Lockfile, LockfileError, LockfileGuard, PluginVersion, lockfile_path};
pub use newest::is_version;
pub use reference::{OciName, Reference, ReferenceError};
pub use review::{Candidate, diff_offers, review};
pub use settings::{SignaturePolicy, SignerIdentity, SourceSettings, SourceTables};
pub use signature::{SignatureError, SimpleSigning, UnverifiedSignature, trusted_comment};
pub use source::{FetchError, FetchedComponent, Newest, PluginSource, Signer};
pub use sources::{PluginSources, read_signature_file, write_layout};
pub use store::{ComponentStore, ComponentStoreError};
