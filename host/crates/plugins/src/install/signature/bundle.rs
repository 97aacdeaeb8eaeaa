//! sigstore: a certificate for minutes that an issuer's word was enough for, and a public log that it was used.
//! Everything is verified from the bundle itself and from roots that are at hand; nobody is asked.

use super::{SignatureError, cosign};
use crate::install::found::Signer;
use crate::install::settings::{Identity, SourceSettings};
use platform::telemetry::printable;
use serde::Deserialize;
use sigstore_verify::trust_root::{SIGSTORE_PRODUCTION_TRUSTED_ROOT, TrustedRoot};
use sigstore_verify::types::bundle::VerificationMaterialContent;
use sigstore_verify::types::{Bundle, MediaType, SignatureContent};
use sigstore_verify::{Policy, PublicKeyVerificationPolicy, VerificationPolicy, Verifier};
use std::io::Read;
use std::path::Path;

/// The largest file of roots.
const MAX_ROOT: u64 = 1 << 20;
/// Statements that vouch for an artefact. Others are about it too, such as that its tests failed.
const VOUCHING: [&str; 3] =
    ["https://sigstore.dev/cosign/sign/v1", "https://slsa.dev/provenance/v1", "https://slsa.dev/provenance/v0.2"];

/// Who of these identities, or holders of these keys, signed the component or the manifest that names it; the inner error
/// says why none did.
pub(super) fn verify(
    settings: &SourceSettings,
    component: &[u8],
    manifest: Option<&[u8]>,
    text: &str,
) -> Result<Result<Signer, String>, SignatureError> {
    let bundle = match read(text) {
        Ok(bundle) => bundle,
        Err(reason) => return Ok(Err(reason)),
    };
    let signers = match bundle.verification_material.content {
        VerificationMaterialContent::PublicKey(_) => by_key(settings)?,
        _ => by_identity(settings),
    };
    if signers.is_empty() {
        let missing = match bundle.verification_material.content {
            VerificationMaterialContent::PublicKey(_) => "by a key of cosign's, and [sources] names no cosign-keys",
            _ => "by sigstore, and [sources] names no identities",
        };
        return Ok(Err(format!("it is made {missing}")));
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

/// Somebody whose signature counts, and what it takes for that.
type Candidate = (Signer, Box<dyn Policy>);

/// With everything that can be checked: chain, certificate log, inclusion proof, checkpoint.
fn by_identity(settings: &SourceSettings) -> Vec<Candidate> {
    let candidate = |Identity { issuer, subject }: &Identity| -> Candidate {
        let policy = VerificationPolicy::new(subject.as_str(), issuer.as_str());
        (Signer::Identity { issuer: issuer.clone(), subject: subject.clone() }, Box::new(policy))
    };
    settings.identities.iter().map(candidate).collect()
}

/// The same without certificates: the key itself is the operator's.
fn by_key(settings: &SourceSettings) -> Result<Vec<Candidate>, SignatureError> {
    let candidate =
        |key: cosign::Key| -> Candidate { (key.signer, Box::new(PublicKeyVerificationPolicy::new(key.public))) };
    Ok(cosign::keys(settings)?.into_iter().map(candidate).collect())
}

/// A bundle that has everything which makes it worth verifying.
fn read(text: &str) -> Result<Bundle, String> {
    let wrong = |error: &dyn std::error::Error| format!("it is no sigstore bundle: {}", printable(&error.to_string()));
    let bundle = Bundle::from_json(text).map_err(|error| wrong(&error))?;
    if bundle.media_type() != MediaType::Bundle0_3 {
        return Err("it is a sigstore bundle of a version before 0.3, which may leave out its proof; \
             sign it with a cosign that writes version 0.3"
            .into());
    }
    let entries = &bundle.verification_material.tlog_entries;
    if entries.is_empty() || entries.iter().any(|entry| entry.inclusion_proof.is_none()) {
        return Err("it has no proof that it was logged (inclusion proof); sign it with a log, or with minisign".into());
    }
    if let SignatureContent::DsseEnvelope(envelope) = &bundle.content {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Statement {
            predicate_type: String,
        }
        let statement: Statement =
            serde_json::from_slice(envelope.payload.as_bytes()).map_err(|error| wrong(&error))?;
        if !VOUCHING.contains(&statement.predicate_type.as_str()) {
            let kind: String = statement.predicate_type.chars().take(100).collect();
            return Err(format!("it is a statement of the type `{}`, which vouches for nothing", printable(&kind)));
        }
    }
    Ok(bundle)
}

/// The roots of the operator's file, or those of the public instance that came with this program.
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
    fn the_roots_that_came_along_can_be_used() {
        verifier(None).unwrap();
    }

    #[test]
    fn a_file_of_roots_is_read_and_named() {
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
    fn what_is_no_bundle_is_said() {
        for text in ["", "{}", "[]", r#"{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json"}"#] {
            assert!(read(text).unwrap_err().contains("no sigstore bundle"), "{text}");
        }
    }
}
