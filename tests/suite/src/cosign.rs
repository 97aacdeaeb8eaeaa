//! Signatures as cosign makes them with a key pair: bundles, with or without a log entry, and the older format.

use crate::bundle::{Verifier, statement};
use crate::sigstore::Sigstore;
use crate::x509::{Key, pem};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The type of cosign's signature statement.
pub const SIGNED: &str = "https://sigstore.dev/cosign/sign/v1";
/// The media type of the payload that is signed in the older format.
pub const SIMPLE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// A pair of keys.
pub struct Cosign(Key);

impl Default for Cosign {
    fn default() -> Self {
        Self(Key::new())
    }
}

impl Cosign {
    /// The public key, as `cosign.pub` holds it.
    pub fn public(&self) -> String {
        pem("PUBLIC KEY", &self.0.public())
    }

    /// How the program names the key.
    pub fn named(&self) -> String {
        format!("cosign:{}", crate::registry::sha256(&self.0.public()))
    }

    fn verifier(&self) -> Verifier {
        Verifier { pem: self.public(), raw: json!({"publicKey": {"rawBytes": STANDARD.encode(self.0.public())}}) }
    }

    fn material(&self) -> Value {
        json!({"publicKey": {"hint": STANDARD.encode(self.0.id())}})
    }

    /// A bundle with a statement of this type about these bytes. With a log, it has an entry of the log's first or
    /// second version.
    pub fn state(&self, bytes: &[u8], kind: &str, log: Option<(&Sigstore, u8)>) -> Value {
        let version = log.map_or(1, |(_, version)| version);
        let (content, (entry, at, body)) = self.verifier().stated(&self.0, &statement(bytes, kind), version);
        let entries = log.map(|(log, _)| log.entry(entry, at, &body)).into_iter().collect();
        Verifier::bundle(self.material(), content, entries)
    }

    /// A bundle with a signature over these bytes themselves.
    pub fn sign(&self, bytes: &[u8], log: Option<(&Sigstore, u8)>) -> Value {
        let signature = self.0.sign(bytes);
        let digest = json!({"algorithm": "SHA2_256", "digest": STANDARD.encode(Sha256::digest(bytes))});
        let content = json!({"messageSignature": {"messageDigest": digest, "signature": STANDARD.encode(&signature)}});
        let entries = log.map(|(log, version)| {
            let (entry, at, body) = self.verifier().hashed(bytes, &signature, version);
            log.entry(entry, at, &body)
        });
        Verifier::bundle(self.material(), content, entries.into_iter().collect())
    }

    /// A signature in the older format: over this text, in base64.
    pub fn simple(&self, payload: &[u8]) -> String {
        STANDARD.encode(self.0.sign(payload))
    }
}

/// The payload that is signed in the older format for the manifest of this digest.
pub fn payload(digest: &str) -> Value {
    json!({
        "critical": {
            "identity": {"docker-reference": "registry.example/acme/echo"},
            "image": {"docker-manifest-digest": digest},
            "type": "cosign container image signature",
        },
        "optional": null,
    })
}
