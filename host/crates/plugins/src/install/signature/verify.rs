//! Verifies the signatures of a component against the keys and identities of `[sources]`.

use super::error::SignatureError;
use super::unverified::UnverifiedSignature;
use super::{bundle, cosign, minisign};
use crate::install::settings::{SignaturePolicy, SourceSettings};
use crate::install::source::Signer;

/// Whether signatures are fetched for this source at all.
pub(crate) fn is_signature_wanted(settings: &SourceSettings) -> bool {
    match settings.signature {
        SignaturePolicy::Required => true,
        SignaturePolicy::Optional => settings.names_signers(),
        SignaturePolicy::Off => false,
    }
}

/// Returns the signer of the first valid signature. `manifest` is the text of the registry's manifest, which contains the
/// digest of the component; some tools sign it instead of the component.
pub(crate) fn verify_signatures(
    settings: &SourceSettings,
    component: &[u8],
    manifest: Option<&[u8]>,
    signatures: &[UnverifiedSignature],
) -> Result<Option<Signer>, SignatureError> {
    if !is_signature_wanted(settings) {
        return Ok(None);
    }
    if signatures.is_empty() {
        return match settings.signature {
            SignaturePolicy::Required => Err(SignatureError::Missing),
            SignaturePolicy::Optional | SignaturePolicy::Off => Ok(None),
        };
    }
    let mut reasons = Vec::new();
    for signature in signatures {
        let verified = match signature {
            UnverifiedSignature::Minisign(text) => minisign::verify(&settings.keys, component, text),
            UnverifiedSignature::Bundle(text) => bundle::verify(settings, component, manifest, text)?,
            UnverifiedSignature::SimpleSigning(simple) => cosign::verify(settings, manifest, simple)?,
        };
        match verified {
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
    fn a_missing_signature_is_an_error_only_where_one_is_required() {
        let key = "RWQHBwcHBwcHB+pKbGPinFIKvvVQexMuxfmVR3auvr57kkIe6mkURtIs".to_owned();
        let settings =
            |signature, keys: &[String]| SourceSettings { signature, keys: keys.into(), ..Default::default() };
        let junk = [UnverifiedSignature::from_text("junk".into()), UnverifiedSignature::from_text(" {}".into())];
        assert!(matches!(junk, [UnverifiedSignature::Minisign(_), UnverifiedSignature::Bundle(_)]));
        let keys = std::slice::from_ref(&key);
        for (policy, keys, signatures, accepted) in [
            (SignaturePolicy::Required, keys, &junk[..0], false),
            (SignaturePolicy::Required, keys, &junk[..], false),
            (SignaturePolicy::Optional, keys, &junk[..0], true),
            (SignaturePolicy::Optional, keys, &junk[..], false),
            (SignaturePolicy::Optional, &[], &junk[..], true),
            (SignaturePolicy::Off, &[], &junk[..], true),
        ] {
            let result = verify_signatures(&settings(policy, keys), b"bytes", None, signatures);
            assert_eq!(result.is_ok(), accepted, "{policy:?} {signatures:?}: {result:?}");
            assert!(!matches!(result, Ok(Some(_))));
        }
    }
}
