//! Signatures of components: which keys and identities of the operator vouch for the fetched bytes. Works offline.
//!
//! The signed bytes contain the name, version and requests of the plugin, so a signature cannot be reused for another
//! plugin or version. Which version may follow which is decided in [`super::compare`].

mod bundle;
mod cosign;
mod error;
mod minisign;
mod unverified;
mod verify;

pub use error::SignatureError;
pub use minisign::trusted_comment;
pub(super) use unverified::{MAX_SIGNATURE_BYTES, MAX_SIGNATURES, SIGNATURE_FILES};
pub use unverified::{SimpleSigning, UnverifiedSignature};
pub(super) use verify::{is_signature_wanted, verify_signatures};
