//! Signatures made with cosign key pairs whose public keys the operator configured. New ones are sigstore bundles (see
//! `bundle`). This module verifies the older format, simple signing: a signed text with the digest of the artifact's
//! manifest, stored in the registry.

use super::error::SignatureError;
use super::unverified::SimpleSigning;
use crate::install::settings::SourceSettings;
use crate::install::source::Signer;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use policy::Digest;
use serde::Deserialize;
use sigstore_verify::crypto::{KeyAlgorithm, verify_signature};
use sigstore_verify::types::{DerPublicKey, SignatureBytes};
use std::io::Read;
use std::path::Path;

/// The largest public key file. The longest keys have a few thousand bits.
const MAX_KEY: u64 = 16 << 10;

pub(super) struct CosignKey {
    pub(super) public: DerPublicKey,
    pub(super) signer: Signer,
}

/// Reads the cosign keys of a source. An unreadable key is an error, since its signatures could not be verified.
pub(super) fn read_keys(settings: &SourceSettings) -> Result<Vec<CosignKey>, SignatureError> {
    settings.cosign_keys.iter().map(|path| read_key(path)).collect()
}

fn read_key(path: &Path) -> Result<CosignKey, SignatureError> {
    let fail = |reason: String| SignatureError::Key(format!("{}: {reason}", path.display()));
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MAX_KEY).read_to_string(&mut text));
    read.map_err(|error| fail(error.to_string()))?;
    let what = "it is not a PEM public key, as `cosign generate-key-pair` writes it to cosign.pub";
    let public = DerPublicKey::from_pem(&text).map_err(|error| fail(format!("{what}: {error}")))?;
    KeyAlgorithm::from_spki(&public).map_err(|error| fail(format!("{what}: {error}")))?;
    let signer = Signer::Cosign(Digest::sha256(public.as_bytes()));
    Ok(CosignKey { public, signer })
}

/// The members of the signed text that are checked.
#[derive(Deserialize)]
struct Payload {
    critical: Critical,
}

#[derive(Deserialize)]
struct Critical {
    image: Image,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Image {
    docker_manifest_digest: String,
}

/// Returns the configured key that signed the manifest. The inner error says why none did.
pub(super) fn verify(
    settings: &SourceSettings,
    manifest: Option<&[u8]>,
    signature: &SimpleSigning,
) -> Result<Result<Signer, String>, SignatureError> {
    let keys = read_keys(settings)?;
    if keys.is_empty() {
        return Ok(Err(
            "it is signed in cosign's older format, which is accepted from the cosign-keys of [sources] only; \
             sign it with one of those keys, or with a cosign that writes sigstore bundles"
                .into(),
        ));
    }
    Ok(signed_digest(&keys, signature).and_then(|(signer, digest)| match manifest.map(Digest::sha256) {
        Some(manifest) if manifest.as_str() == digest => Ok(signer),
        _ => Err("it is a cosign signature of another artifact".into()),
    }))
}

/// Verifies the signed text, and returns its signer and the digest in it.
fn signed_digest(keys: &[CosignKey], signed: &SimpleSigning) -> Result<(Signer, String), String> {
    let signature = STANDARD.decode(&signed.signature).map_err(|_| "its signature is not in base64".to_owned())?;
    let signature = SignatureBytes::new(signature);
    let is_valid = |key: &&CosignKey| {
        let scheme = KeyAlgorithm::from_spki(&key.public).map(|kind| kind.default_signing_scheme());
        scheme.is_ok_and(|scheme| verify_signature(&key.public, &signed.payload, &signature, scheme).is_ok())
    };
    let key = keys.iter().find(is_valid).ok_or("it was made with none of the cosign-keys in [sources]")?;
    let payload: Payload =
        serde_json::from_slice(&signed.payload).map_err(|_| "the signed text is not in cosign's format")?;
    if payload.critical.kind != "cosign container image signature" {
        return Err("the signed text is not a signature of an artifact".into());
    }
    Ok((key.signer.clone(), payload.critical.image.docker_manifest_digest))
}
