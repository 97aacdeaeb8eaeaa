//! Who vouches for a component: signatures that were found beside it, held against the keys and identities that the
//! operator named for its source. Nothing here asks anybody.
//!
//! A signature is over bytes that hold the plugin's own name, version and requests, so it cannot be shown again for
//! another plugin or another version; which version may follow which is decided where plugins are updated.

mod bundle;
mod cosign;
mod minisign;

pub use cosign::Simple;
pub use minisign::trusted_comment;

use super::found::Signer;
use super::settings::{SignaturePolicy, SourceSettings};

/// The largest signature. A bundle holds certificates and a proof; both are small.
pub(super) const MAX_EVIDENCE: u64 = 256 << 10;
/// Signatures about one artefact that are looked at: each costs two requests and some arithmetic.
pub(super) const MOST_EVIDENCE: usize = 16;

/// A signature that was found, not yet verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// The text of a minisign signature.
    Minisign(String),
    /// A sigstore bundle, in JSON.
    Bundle(String),
    /// What cosign kept in registries before there were bundles.
    Simple(Simple),
}

impl Evidence {
    /// What a file holds that somebody says is a signature.
    pub fn guess(text: String) -> Self {
        if text.trim_start().starts_with('{') { Self::Bundle(text) } else { Self::Minisign(text) }
    }
}

/// Why nobody vouches for a component.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum SignatureError {
    #[error(
        "it is not signed, and [sources] demands a signature for this source; nothing was fetched from it into the store"
    )]
    Missing,
    #[error("none of its signatures is good: {0}")]
    Bad(String),
    #[error("the trusted-root of [sources] cannot be used: {0}")]
    Root(String),
    #[error("a key of cosign-keys in [sources] cannot be used: {0}")]
    Key(String),
}

/// Whether signatures are to be looked for at all.
pub(super) fn wanted(settings: &SourceSettings) -> bool {
    match settings.signature {
        SignaturePolicy::Required => true,
        SignaturePolicy::Optional => settings.names_signers(),
        SignaturePolicy::Off => false,
    }
}

/// Who vouches for a component by any of these signatures. `manifest` is the registry's text that names the component
/// by its digest, which some tools sign instead.
pub(super) fn judge(
    settings: &SourceSettings,
    component: &[u8],
    manifest: Option<&[u8]>,
    evidence: &[Evidence],
) -> Result<Option<Signer>, SignatureError> {
    if !wanted(settings) {
        return Ok(None);
    }
    if evidence.is_empty() {
        return match settings.signature {
            SignaturePolicy::Required => Err(SignatureError::Missing),
            SignaturePolicy::Optional | SignaturePolicy::Off => Ok(None),
        };
    }
    let mut reasons = Vec::new();
    for evidence in evidence {
        let verdict = match evidence {
            Evidence::Minisign(text) => minisign::verify(&settings.keys, component, text),
            Evidence::Bundle(text) => bundle::verify(settings, component, manifest, text)?,
            Evidence::Simple(simple) => cosign::verify(settings, manifest, simple)?,
        };
        match verdict {
            Ok(signer) => return Ok(Some(signer)),
            Err(reason) => reasons.push(reason),
        }
    }
    reasons.dedup();
    Err(SignatureError::Bad(reasons.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_matters_only_where_it_is_demanded() {
        let key = "RWQHBwcHBwcHB+pKbGPinFIKvvVQexMuxfmVR3auvr57kkIe6mkURtIs".to_owned();
        let settings =
            |signature, keys: &[String]| SourceSettings { signature, keys: keys.into(), ..Default::default() };
        let junk = [Evidence::guess("junk".into()), Evidence::guess(" {}".into())];
        assert!(matches!(junk, [Evidence::Minisign(_), Evidence::Bundle(_)]));
        let keys = std::slice::from_ref(&key);
        for (policy, keys, evidence, good) in [
            (SignaturePolicy::Required, keys, &junk[..0], false),
            (SignaturePolicy::Required, keys, &junk[..], false),
            (SignaturePolicy::Optional, keys, &junk[..0], true),
            (SignaturePolicy::Optional, keys, &junk[..], false),
            (SignaturePolicy::Optional, &[], &junk[..], true),
            (SignaturePolicy::Off, &[], &junk[..], true),
        ] {
            let verdict = judge(&settings(policy, keys), b"bytes", None, evidence);
            assert_eq!(verdict.is_ok(), good, "{policy:?} {evidence:?}: {verdict:?}");
            assert!(!matches!(verdict, Ok(Some(_))));
        }
    }
}
