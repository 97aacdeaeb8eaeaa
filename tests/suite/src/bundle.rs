//! Sigstore bundles: a signature with its statement, its certificate or key, and its log entries.

use crate::x509::Key;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const IN_TOTO: &str = "application/vnd.in-toto+json";

/// A statement of this type about these bytes.
pub(crate) fn statement(bytes: &[u8], kind: &str) -> String {
    let hex = crate::registry::sha256(bytes).replace("sha256:", "");
    let subject = json!([{"name": "", "digest": {"sha256": hex}}]);
    json!({"_type": "https://in-toto.io/Statement/v1", "subject": subject, "predicateType": kind, "predicate": {}})
        .to_string()
}

/// Kind, version and body of a log entry.
type Entry = (&'static str, &'static str, Value);

/// The key or certificate that verifies a signature, as logs store it.
pub(crate) struct Verifier {
    /// For the first version of the log.
    pub(crate) pem: String,
    /// For the second version.
    pub(crate) raw: Value,
}

impl Verifier {
    /// A signed statement and its log entry.
    pub(crate) fn stated(&self, key: &Key, statement: &str, version: u8) -> (Value, Entry) {
        // The signature covers the payload, preceded by its type and the lengths of both (DSSE).
        let framed = format!("DSSEv1 {} {IN_TOTO} {} {statement}", IN_TOTO.len(), statement.len());
        let signature = key.sign(framed.as_bytes());
        let signatures = json!([{"sig": STANDARD.encode(&signature), "keyid": ""}]);
        let envelope = json!({"payload": STANDARD.encode(statement), "payloadType": IN_TOTO, "signatures": signatures});
        let entry = match version {
            1 => {
                let hash = |text: &str| {
                    let digest = crate::registry::sha256(text.as_bytes());
                    json!({"algorithm": "sha256", "value": digest.replace("sha256:", "")})
                };
                let signed = json!({"signature": STANDARD.encode(&signature), "verifier": STANDARD.encode(&self.pem)});
                let spec = json!({
                    "envelopeHash": hash(&envelope.to_string()),
                    "payloadHash": hash(statement),
                    "signatures": [signed],
                });
                ("dsse", "0.0.1", json!({"apiVersion": "0.0.1", "kind": "dsse", "spec": spec}))
            }
            _ => self.hashed(framed.as_bytes(), &signature, version),
        };
        (json!({"dsseEnvelope": envelope}), entry)
    }

    /// The log entry of a signature over these bytes.
    pub(crate) fn hashed(&self, bytes: &[u8], signature: &[u8], version: u8) -> Entry {
        let (digest, content) = (Sha256::digest(bytes), STANDARD.encode(signature));
        let (at, spec) = match version {
            1 => {
                let hash =
                    json!({"algorithm": "sha256", "value": crate::registry::sha256(bytes).replace("sha256:", "")});
                let public = json!({"content": STANDARD.encode(&self.pem)});
                ("0.0.1", json!({"data": {"hash": hash}, "signature": {"content": content, "publicKey": public}}))
            }
            _ => {
                let mut verifier = self.raw.clone();
                verifier["keyDetails"] = json!("PKIX_ECDSA_P256_SHA_256");
                let data = json!({"algorithm": "SHA2_256", "digest": STANDARD.encode(digest)});
                let signature = json!({"content": content, "verifier": verifier});
                ("0.0.2", json!({"hashedRekordV002": {"data": data, "signature": signature}}))
            }
        };
        ("hashedrekord", at, json!({"apiVersion": at, "kind": "hashedrekord", "spec": spec}))
    }

    /// The whole bundle.
    pub(crate) fn bundle(mut material: Value, content: Value, entries: Vec<Value>) -> Value {
        material["tlogEntries"] = json!(entries);
        let mut bundle = json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": material,
        });
        for (name, part) in content.as_object().into_iter().flatten() {
            bundle[name] = part.clone();
        }
        bundle
    }
}
