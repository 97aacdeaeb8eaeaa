//! A minimal sigstore instance: an authority that issues certificates, a log of certificates, and a log of signatures.
//! Every log has one entry.

use crate::bundle::{Verifier, statement};
use crate::der::{extension, oid, sequence, tlv};
use crate::x509::{self, Key, pem};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::Arc;

const EMBEDDED_SCTS: &[u64] = &[1, 3, 6, 1, 4, 1, 11129, 2, 4, 2];
const ISSUER: &[u64] = &[1, 3, 6, 1, 4, 1, 57264, 1, 8];

/// The authority's name.
const NAME: &str = "suite";

/// The time of all signatures: in the middle of the year in which the certificates are valid.
const SIGNED_AT: u64 = 1_750_000_000;

/// The entry for a log with this key in a trusted root file.
fn trusted(key: &Key) -> Value {
    json!({
        "baseUrl": "https://log.example",
        "hashAlgorithm": "SHA2_256",
        "publicKey": {
            "rawBytes": STANDARD.encode(key.public()),
            "keyDetails": "PKIX_ECDSA_P256_SHA_256",
            "validFor": {"start": "2020-01-01T00:00:00Z"},
        },
        "logId": {"keyId": STANDARD.encode(key.id())},
    })
}

/// The instance.
#[derive(Clone)]
pub struct Sigstore {
    authority: Arc<Key>,
    certificates: Arc<Key>,
    signatures: Arc<Key>,
}

impl Default for Sigstore {
    fn default() -> Self {
        let key = || Arc::new(Key::new());
        Self { authority: key(), certificates: key(), signatures: key() }
    }
}

impl Sigstore {
    /// The same instance with a false authority.
    pub fn false_authority(&self) -> Self {
        Self { authority: Self::default().authority, ..self.clone() }
    }

    /// The same instance with a false log of certificates.
    pub fn false_certificates(&self) -> Self {
        Self { certificates: Self::default().certificates, ..self.clone() }
    }

    /// The same instance with a false log of signatures.
    pub fn false_signatures(&self) -> Self {
        Self { signatures: Self::default().signatures, ..self.clone() }
    }

    /// Its trusted root file.
    pub fn trusted_root(&self) -> String {
        let root = json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [trusted(&self.signatures)],
            "ctlogs": [trusted(&self.certificates)],
            "certificateAuthorities": [{
                "subject": {"organization": "suite", "commonName": "suite"},
                "uri": "https://authority.example",
                "certChain": {"certificates": [{"rawBytes": STANDARD.encode(x509::authority(NAME, &self.authority))}]},
                "validFor": {"start": "2020-01-01T00:00:00Z"},
            }],
            "timestampAuthorities": [],
        });
        root.to_string()
    }

    /// A bundle over these bytes by the identity `subject` (a URI) of `issuer`.
    pub fn sign(&self, bytes: &[u8], issuer: &str, subject: &str) -> Value {
        self.sign_in(bytes, issuer, subject, ["250101000000Z", "260101000000Z"])
    }

    /// The same with a certificate that is valid in the given period.
    pub fn sign_in(&self, bytes: &[u8], issuer: &str, subject: &str, good: [&str; 2]) -> Value {
        let key = Key::new();
        let certificate = self.leaf(&key, issuer, subject, good);
        let (digest, signature) = (Sha256::digest(bytes), STANDARD.encode(key.sign(bytes)));
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let pem = pem("CERTIFICATE", &certificate);
        // Keys in alphabetical order, as the log signs them.
        let body = json!({
            "apiVersion": "0.0.1",
            "kind": "hashedrekord",
            "spec": {
                "data": {"hash": {"algorithm": "sha256", "value": hex}},
                "signature": {"content": signature, "publicKey": {"content": STANDARD.encode(pem)}},
            },
        });
        json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": {"rawBytes": STANDARD.encode(&certificate)},
                "tlogEntries": [self.entry("hashedrekord", "0.0.1", &body)],
            },
            "messageSignature": {
                "messageDigest": {"algorithm": "SHA2_256", "digest": STANDARD.encode(digest)},
                "signature": signature,
            },
        })
    }

    /// A bundle with a statement of this type about these bytes by the identity `subject` of `issuer`, and an entry of
    /// the log's first or second version.
    pub fn state(&self, bytes: &[u8], kind: &str, [issuer, subject]: [&str; 2], version: u8) -> Value {
        let key = Key::new();
        let certificate = self.leaf(&key, issuer, subject, ["250101000000Z", "260101000000Z"]);
        let raw = json!({"rawBytes": STANDARD.encode(&certificate)});
        let verifier = Verifier { pem: pem("CERTIFICATE", &certificate), raw: json!({"x509Certificate": raw}) };
        let (content, entry) = verifier.stated(&key, &statement(bytes, kind), version);
        Verifier::bundle(json!({"certificate": raw}), content, vec![self.entry(entry.0, entry.1, &entry.2)])
    }

    /// The only entry of the log of signatures, with its inclusion proof.
    pub(crate) fn entry(&self, kind: &str, version: &str, body: &Value) -> Value {
        let body = body.to_string();
        let (log, encoded) = (&self.signatures, STANDARD.encode(&body));
        let root = Sha256::digest([&[0], body.as_bytes()].concat());
        let note = format!("log.example - 1\n1\n{}\n", STANDARD.encode(root));
        let signed = STANDARD.encode([&log.id()[..4], &log.sign(note.as_bytes())].concat());
        let id: String = log.id().iter().map(|byte| format!("{byte:02x}")).collect();
        let promise = json!({"body": encoded, "integratedTime": SIGNED_AT, "logID": id, "logIndex": 0});
        let mut entry = json!({
            "logIndex": "0",
            "logId": {"keyId": STANDARD.encode(log.id())},
            "kindVersion": {"kind": kind, "version": version},
            "integratedTime": SIGNED_AT.to_string(),
            "inclusionPromise": {"signedEntryTimestamp": STANDARD.encode(log.sign(promise.to_string().as_bytes()))},
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": STANDARD.encode(root),
                "treeSize": "1",
                "hashes": [],
                "checkpoint": {"envelope": format!("{note}\n\u{2014} log.example {signed}\n")},
            },
            "canonicalizedBody": encoded,
        });
        // The second version of the log has no inclusion promise and no time.
        if version == "0.0.2" {
            for part in ["integratedTime", "inclusionPromise"] {
                entry.as_object_mut().expect("an object").remove(part);
            }
        }
        entry
    }

    /// A short-lived certificate that contains the SCT of the log of certificates.
    fn leaf(&self, key: &Key, issuer: &str, subject: &str, good: [&str; 2]) -> Vec<u8> {
        let mut extensions = vec![
            extension(&[2, 5, 29, 15], true, &tlv(3, &[7, 0b1000_0000])),
            extension(&[2, 5, 29, 37], false, &sequence(&[oid(&[1, 3, 6, 1, 5, 5, 7, 3, 3])])),
            extension(&[2, 5, 29, 17], true, &sequence(&[tlv(0x86, subject.as_bytes())])),
            extension(ISSUER, false, &tlv(0x0c, issuer.as_bytes())),
        ];
        let without = x509::body(2, NAME, good, &sequence(&[]), key, &extensions);
        extensions.push(extension(EMBEDDED_SCTS, false, &tlv(4, &self.promise(&without))));
        x509::signed(&x509::body(2, NAME, good, &sequence(&[]), key, &extensions), &self.authority)
    }

    /// The SCT of the log of certificates for a certificate without one (RFC 6962).
    fn promise(&self, certificate: &[u8]) -> Vec<u8> {
        let length = |bytes: &[u8]| u16::try_from(bytes.len()).expect("at most 64 KiB").to_be_bytes();
        let at = (SIGNED_AT * 1_000).to_be_bytes();
        let issuer = self.authority.id();
        let size = &u32::try_from(certificate.len()).expect("a small certificate").to_be_bytes()[1..];
        let signed = [&[0, 0][..], &at, &[0, 1], &issuer, size, certificate, &[0, 0]].concat();
        let signature = self.certificates.sign(&signed);
        let id = self.certificates.id();
        let promise = [&[0][..], &id, &at, &[0, 0], &[4, 3], &length(&signature), &signature].concat();
        let entry = [&length(&promise)[..], &promise].concat();
        [&length(&entry)[..], &entry].concat()
    }
}
