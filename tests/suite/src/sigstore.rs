//! A sigstore instance of our own: an authority that gives certificates, a log of those and a log of signatures, small
//! enough that every log has one entry.

use crate::der::{bits, extension, oid, sequence, tlv};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::Arc;

const ECDSA_SHA256: &[u64] = &[1, 2, 840, 10045, 4, 3, 2];
const EMBEDDED_SCTS: &[u64] = &[1, 3, 6, 1, 4, 1, 11129, 2, 4, 2];
const ISSUER: &[u64] = &[1, 3, 6, 1, 4, 1, 57264, 1, 8];

/// When everything here was signed: in the middle of the year in which the certificates are good.
const SIGNED_AT: u64 = 1_750_000_000;

struct Key(EcdsaKeyPair);

impl Key {
    fn new() -> Self {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).expect("making a key");
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, made.as_ref(), &random);
        Self(key.expect("a key that was just made"))
    }

    fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.0.sign(&SystemRandom::new(), bytes).expect("signing").as_ref().to_vec()
    }

    fn public(&self) -> Vec<u8> {
        let kind = sequence(&[oid(&[1, 2, 840, 10045, 2, 1]), oid(&[1, 2, 840, 10045, 3, 1, 7])]);
        sequence(&[kind, bits(self.0.public_key().as_ref())])
    }

    /// What logs call it.
    fn id(&self) -> Vec<u8> {
        Sha256::digest(self.public()).to_vec()
    }

    fn trusted(&self) -> Value {
        json!({
            "baseUrl": "https://log.example",
            "hashAlgorithm": "SHA2_256",
            "publicKey": {
                "rawBytes": STANDARD.encode(self.public()),
                "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                "validFor": {"start": "2020-01-01T00:00:00Z"},
            },
            "logId": {"keyId": STANDARD.encode(self.id())},
        })
    }
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
    /// The same with a false authority.
    pub fn false_authority(&self) -> Self {
        Self { authority: Self::default().authority, ..self.clone() }
    }

    /// The same with a false log of certificates.
    pub fn false_certificates(&self) -> Self {
        Self { certificates: Self::default().certificates, ..self.clone() }
    }

    /// The same with a false log of signatures.
    pub fn false_signatures(&self) -> Self {
        Self { signatures: Self::default().signatures, ..self.clone() }
    }

    /// The file of its roots.
    pub fn trusted_root(&self) -> String {
        let root = json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [self.signatures.trusted()],
            "ctlogs": [self.certificates.trusted()],
            "certificateAuthorities": [{
                "subject": {"organization": "suite", "commonName": "suite"},
                "uri": "https://authority.example",
                "certChain": {"certificates": [{"rawBytes": STANDARD.encode(self.root())}]},
                "validFor": {"start": "2020-01-01T00:00:00Z"},
            }],
            "timestampAuthorities": [],
        });
        root.to_string()
    }

    /// A bundle over these bytes, by somebody to whom `issuer` vouched for `subject` (a URI).
    pub fn sign(&self, bytes: &[u8], issuer: &str, subject: &str) -> Value {
        self.sign_in(bytes, issuer, subject, ["250101000000Z", "260101000000Z"])
    }

    /// The same with a certificate that is good from one moment to another.
    pub fn sign_in(&self, bytes: &[u8], issuer: &str, subject: &str, good: [&str; 2]) -> Value {
        let key = Key::new();
        let certificate = self.leaf(&key, issuer, subject, good);
        let (digest, signature) = (Sha256::digest(bytes), STANDARD.encode(key.sign(bytes)));
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let wrapped = STANDARD.encode(&certificate).into_bytes();
        let lines: Vec<_> = wrapped.chunks(64).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        let pem = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"));
        // Keys in the order of the alphabet, as the log has them signed.
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
                "tlogEntries": [self.entry(body.to_string().as_bytes())],
            },
            "messageSignature": {
                "messageDigest": {"algorithm": "SHA2_256", "digest": STANDARD.encode(digest)},
                "signature": signature,
            },
        })
    }

    /// The one entry of the log of signatures, with the proof that it is there.
    fn entry(&self, body: &[u8]) -> Value {
        let (log, encoded) = (&self.signatures, STANDARD.encode(body));
        let root = Sha256::digest([&[0], body].concat());
        let note = format!("log.example - 1\n1\n{}\n", STANDARD.encode(root));
        let signed = STANDARD.encode([&log.id()[..4], &log.sign(note.as_bytes())].concat());
        let id: String = log.id().iter().map(|byte| format!("{byte:02x}")).collect();
        let promise = json!({"body": encoded, "integratedTime": SIGNED_AT, "logID": id, "logIndex": 0});
        json!({
            "logIndex": "0",
            "logId": {"keyId": STANDARD.encode(log.id())},
            "kindVersion": {"kind": "hashedrekord", "version": "0.0.1"},
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
        })
    }

    fn root(&self) -> Vec<u8> {
        let extensions = [
            extension(&[2, 5, 29, 19], true, &sequence(&[tlv(1, &[0xff])])),
            extension(&[2, 5, 29, 15], true, &tlv(3, &[1, 0b0000_0110])),
        ];
        let body = certificate(1, ["200101000000Z", "400101000000Z"], &name("suite"), &self.authority, &extensions);
        self.certify(&body)
    }

    /// A certificate for minutes, with the promise of the log of certificates in it.
    fn leaf(&self, key: &Key, issuer: &str, subject: &str, good: [&str; 2]) -> Vec<u8> {
        let mut extensions = vec![
            extension(&[2, 5, 29, 15], true, &tlv(3, &[7, 0b1000_0000])),
            extension(&[2, 5, 29, 37], false, &sequence(&[oid(&[1, 3, 6, 1, 5, 5, 7, 3, 3])])),
            extension(&[2, 5, 29, 17], true, &sequence(&[tlv(0x86, subject.as_bytes())])),
            extension(ISSUER, false, &tlv(0x0c, issuer.as_bytes())),
        ];
        let without = certificate(2, good, &sequence(&[]), key, &extensions);
        extensions.push(extension(EMBEDDED_SCTS, false, &tlv(4, &self.promise(&without))));
        self.certify(&certificate(2, good, &sequence(&[]), key, &extensions))
    }

    /// What the log of certificates says of one without that promise (RFC 6962).
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

    fn certify(&self, body: &[u8]) -> Vec<u8> {
        sequence(&[body.to_vec(), sequence(&[oid(ECDSA_SHA256)]), bits(&self.authority.sign(body))])
    }
}

fn name(text: &str) -> Vec<u8> {
    let attribute = sequence(&[oid(&[2, 5, 4, 3]), tlv(0x0c, text.as_bytes())]);
    sequence(&[tlv(0x31, &attribute)])
}

/// What of a certificate is signed.
fn certificate(serial: u8, good: [&str; 2], subject: &[u8], key: &Key, extensions: &[Vec<u8>]) -> Vec<u8> {
    sequence(&[
        tlv(0xa0, &tlv(2, &[2])),
        tlv(2, &[serial]),
        sequence(&[oid(ECDSA_SHA256)]),
        name("suite"),
        sequence(&good.map(|moment| tlv(0x17, moment.as_bytes()))),
        subject.to_vec(),
        key.public(),
        tlv(0xa3, &sequence(extensions)),
    ])
}
