//! cosign's key pairs: public keys in files of the operator's. What they sign is a sigstore bundle (`bundle`), or the older
//! form that is read here: a text about the digest of the artefact's manifest, in a registry beside that.

use super::SignatureError;
use crate::install::found::Signer;
use crate::install::settings::SourceSettings;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use policy::Digest;
use serde::Deserialize;
use sigstore_verify::crypto::{KeyAlgorithm, verify_signature};
use sigstore_verify::types::{DerPublicKey, SignatureBytes};
use std::io::Read;
use std::path::Path;

/// The largest file of a public key: the longest keys have a few thousand bits.
const MAX_KEY: u64 = 16 << 10;

/// A signature of the older form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simple {
    /// The text that is signed.
    pub payload: Vec<u8>,
    /// Over it, in base64.
    pub signature: String,
}

/// A key that the operator named.
pub(super) struct Key {
    pub(super) public: DerPublicKey,
    pub(super) signer: Signer,
}

/// The keys of a source. One that cannot be read is an error: with it, nobody can be told good from bad.
pub(super) fn keys(settings: &SourceSettings) -> Result<Vec<Key>, SignatureError> {
    settings.cosign_keys.iter().map(|path| key(path)).collect()
}

fn key(path: &Path) -> Result<Key, SignatureError> {
    let fail = |reason: String| SignatureError::Key(format!("{}: {reason}", path.display()));
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MAX_KEY).read_to_string(&mut text));
    read.map_err(|error| fail(error.to_string()))?;
    let what = "it is no public key in PEM, as `cosign generate-key-pair` writes it to cosign.pub";
    let public = DerPublicKey::from_pem(&text).map_err(|error| fail(format!("{what}: {error}")))?;
    KeyAlgorithm::from_spki(&public).map_err(|error| fail(format!("{what}: {error}")))?;
    let signer = Signer::PublicKey(Digest::of(public.as_bytes()));
    Ok(Key { public, signer })
}

/// What cosign writes into the text, as far as it matters here.
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

/// Who of the holders of these keys signed the manifest; the inner error says why none did.
pub(super) fn verify(
    settings: &SourceSettings,
    manifest: Option<&[u8]>,
    simple: &Simple,
) -> Result<Result<Signer, String>, SignatureError> {
    let keys = keys(settings)?;
    if keys.is_empty() {
        return Ok(Err(
            "it is signed by cosign in its older form, which is taken from the cosign-keys of [sources] alone; \
             sign it with a key of those, or with a cosign that writes sigstore bundles"
                .into(),
        ));
    }
    Ok(about(&keys, simple).and_then(|(signer, digest)| match manifest.map(Digest::of) {
        Some(manifest) if manifest.as_str() == digest => Ok(signer),
        _ => Err("it is a signature of cosign about another artefact".into()),
    }))
}

/// Who signed the text, and the digest that it is about.
fn about(keys: &[Key], simple: &Simple) -> Result<(Signer, String), String> {
    let signature = STANDARD.decode(&simple.signature).map_err(|_| "its signature is not in base64".to_owned())?;
    let signature = SignatureBytes::new(signature);
    let signed = |key: &&Key| {
        let scheme = KeyAlgorithm::from_spki(&key.public).map(|kind| kind.default_signing_scheme());
        scheme.is_ok_and(|scheme| verify_signature(&key.public, &simple.payload, &signature, scheme).is_ok())
    };
    let key = keys.iter().find(signed).ok_or("it was made by no key of cosign-keys in [sources]")?;
    let payload: Payload =
        serde_json::from_slice(&simple.payload).map_err(|_| "what it signs is not of cosign's form")?;
    if payload.critical.kind != "cosign container image signature" {
        return Err("what it signs is no signature of an artefact".into());
    }
    Ok((key.signer.clone(), payload.critical.image.docker_manifest_digest))
}
