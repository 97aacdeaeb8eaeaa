//! sigstore bundles: a short-lived certificate from an OIDC issuer, or a cosign key, and an entry in a public log.
//! Verified offline, from the bundle and the trusted root.

use super::cosign;
use super::error::SignatureError;
use crate::install::settings::{SignerIdentity, SourceSettings};
use crate::install::source::Signer;
use platform::telemetry::printable;
use platform::text::truncate_chars;
use serde::Deserialize;
use sigstore_verify::trust_root::{SIGSTORE_PRODUCTION_TRUSTED_ROOT, TrustedRoot};
use sigstore_verify::types::bundle::VerificationMaterialContent;
use sigstore_verify::types::{Bundle, MediaType, SignatureContent};
use sigstore_verify::{Policy, PublicKeyVerificationPolicy, VerificationPolicy, Verifier};
use std::io::Read;
use std::path::Path;

/// The largest trusted root file.
const MAX_ROOT: u64 = 1 << 20;
/// Attestations that count as a signature. Others may say anything about the artifact, such as that its tests failed.
const ACCEPTED_PREDICATES: [&str; 3] =
    ["https://sigstore.dev/cosign/sign/v1", "https://slsa.dev/provenance/v1", "https://slsa.dev/provenance/v0.2"];

/// Returns the configured identity or key that signed the component or its manifest. The inner error says why none did.
pub(super) fn verify(
    settings: &SourceSettings,
    component: &[u8],
    manifest: Option<&[u8]>,
    text: &str,
) -> Result<Result<Signer, String>, SignatureError> {
    let bundle = match parse(text) {
        Ok(bundle) => bundle,
        Err(reason) => return Ok(Err(reason)),
    };
    let signers = match bundle.verification_material.content {
        VerificationMaterialContent::PublicKey(_) => trusted_keys(settings)?,
        _ => trusted_identities(settings),
    };
    if signers.is_empty() {
        let missing = match bundle.verification_material.content {
            VerificationMaterialContent::PublicKey(_) => "with a cosign key, and [sources] names no cosign-keys",
            _ => "with a sigstore identity, and [sources] names no identities",
        };
        return Ok(Err(format!("it was made {missing}")));
    }
    let verifier = verifier(settings.trusted_root.as_deref())?;
    let mut reasons = Vec::new();
    for (signer, policy) in signers {
        for subject in [Some(component), manifest].into_iter().flatten() {
            match verifier.verify(subject, &bundle, &*policy) {
                Ok(_) => return Ok(Ok(signer)),
                Err(error) => reasons.push(printable(&error.to_string()).into_owned()),
            }
        }
    }
    reasons.dedup();
    Ok(Err(reasons.join("; ")))
}

/// A configured signer, and the policy that verifies its signatures.
type TrustedSigner = (Signer, Box<dyn Policy>);

/// The policies check everything: certificate chain, certificate log, inclusion proof, checkpoint.
fn trusted_identities(settings: &SourceSettings) -> Vec<TrustedSigner> {
    let trusted = |SignerIdentity { issuer, subject }: &SignerIdentity| -> TrustedSigner {
        let policy = VerificationPolicy::new(subject.as_str(), issuer.as_str());
        (Signer::Identity { issuer: issuer.clone(), subject: subject.clone() }, Box::new(policy))
    };
    settings.identities.iter().map(trusted).collect()
}

/// The policies check the log but no certificates, since the operator configured the key itself.
fn trusted_keys(settings: &SourceSettings) -> Result<Vec<TrustedSigner>, SignatureError> {
    let trusted = |key: cosign::CosignKey| -> TrustedSigner {
        (key.signer, Box::new(PublicKeyVerificationPolicy::new(key.public)))
    };
    Ok(cosign::read_keys(settings)?.into_iter().map(trusted).collect())
}

/// Parses a bundle, and refuses bundles without a log entry and attestations that do not count as a signature.
fn parse(text: &str) -> Result<Bundle, String> {
    let wrong =
        |error: &dyn std::error::Error| format!("it is not a sigstore bundle: {}", printable(&error.to_string()));
    let bundle = Bundle::from_json(text).map_err(|error| wrong(&error))?;
    if bundle.media_type() != MediaType::Bundle0_3 {
        return Err("it is a sigstore bundle of a version before 0.3, which may lack the inclusion proof; \
             sign it with a cosign that writes version 0.3"
            .into());
    }
    let entries = &bundle.verification_material.tlog_entries;
    if entries.is_empty() || entries.iter().any(|entry| entry.inclusion_proof.is_none()) {
        return Err("it has no proof that it was logged (inclusion proof); use a transparency log, or minisign".into());
    }
    if let SignatureContent::DsseEnvelope(envelope) = &bundle.content {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Statement {
            predicate_type: String,
        }
        let statement: Statement =
            serde_json::from_slice(envelope.payload.as_bytes()).map_err(|error| wrong(&error))?;
        if !ACCEPTED_PREDICATES.contains(&statement.predicate_type.as_str()) {
            let kind = truncate_chars(&statement.predicate_type, 100).to_owned();
            return Err(format!(
                "it is an attestation of the type `{}`, which does not count as a signature",
                printable(&kind)
            ));
        }
    }
    Ok(bundle)
}

/// Uses the operator's trusted root, or the built-in one of the public sigstore instance.
fn verifier(file: Option<&Path>) -> Result<Verifier, SignatureError> {
    let fail = |reason: String| SignatureError::Root(reason);
    let text = match file {
        None => SIGSTORE_PRODUCTION_TRUSTED_ROOT.to_owned(),
        Some(path) => {
            let mut text = String::new();
            let read = std::fs::File::open(path).and_then(|file| file.take(MAX_ROOT).read_to_string(&mut text));
            read.map_err(|error| fail(format!("{}: {error}", path.display())))?;
            text
        }
    };
    let root = TrustedRoot::from_json(&text).map_err(|error| fail(error.to_string()))?;
    Verifier::new(&root).map_err(|error| fail(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_root_is_usable() {
        verifier(None).unwrap();
    }

    #[test]
    fn errors_name_the_trusted_root_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("root.json");
        let error = verifier(Some(&path)).err().unwrap().to_string();
        assert!(error.contains("root.json"), "{error}");
        std::fs::write(&path, "{}").unwrap();
        assert!(matches!(verifier(Some(&path)), Err(SignatureError::Root(_))));
        std::fs::write(&path, SIGSTORE_PRODUCTION_TRUSTED_ROOT).unwrap();
        verifier(Some(&path)).unwrap();
    }

    #[test]
    fn text_that_is_not_a_bundle_is_refused() {
        for text in ["", "{}", "[]", r#"{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json"}"#] {
            assert!(parse(text).unwrap_err().contains("not a sigstore bundle"), "{text}");
        }
    }
}
