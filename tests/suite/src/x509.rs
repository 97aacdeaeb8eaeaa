//! Keys and certificates of the suite's authorities: for signers of plugins and for web servers.

use crate::der::{bits, extension, oid, sequence, tlv};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use sha2::{Digest, Sha256};

const ECDSA_SHA256: &[u64] = &[1, 2, 840, 10045, 4, 3, 2];

/// A key of the curve P-256.
pub(crate) struct Key {
    pair: EcdsaKeyPair,
    secret: Vec<u8>,
}

impl Key {
    pub(crate) fn new() -> Self {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).expect("making a key");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, made.as_ref(), &random);
        Self { pair: pair.expect("a key that was just made"), secret: made.as_ref().to_vec() }
    }

    /// ECDSA over the SHA-256 of these bytes.
    pub(crate) fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.pair.sign(&SystemRandom::new(), bytes).expect("signing").as_ref().to_vec()
    }

    /// The public key, as encoded in certificates.
    pub(crate) fn public(&self) -> Vec<u8> {
        let kind = sequence(&[oid(&[1, 2, 840, 10045, 2, 1]), oid(&[1, 2, 840, 10045, 3, 1, 7])]);
        sequence(&[kind, bits(self.pair.public_key().as_ref())])
    }

    /// The key's id in logs.
    pub(crate) fn id(&self) -> Vec<u8> {
        Sha256::digest(self.public()).to_vec()
    }

    /// The secret key, as PKCS #8.
    pub(crate) fn secret(&self) -> Vec<u8> {
        self.secret.clone()
    }
}

/// A name that has only a common name.
pub(crate) fn name(text: &str) -> Vec<u8> {
    let attribute = sequence(&[oid(&[2, 5, 4, 3]), tlv(0x0c, text.as_bytes())]);
    sequence(&[tlv(0x31, &attribute)])
}

/// The signed part of a certificate. `good` is its validity period as two UTCTime values.
pub(crate) fn body(
    serial: u8,
    issuer: &str,
    good: [&str; 2],
    subject: &[u8],
    key: &Key,
    extensions: &[Vec<u8>],
) -> Vec<u8> {
    sequence(&[
        tlv(0xa0, &tlv(2, &[2])),
        tlv(2, &[serial]),
        sequence(&[oid(ECDSA_SHA256)]),
        name(issuer),
        sequence(&good.map(|moment| tlv(0x17, moment.as_bytes()))),
        subject.to_vec(),
        key.public(),
        tlv(0xa3, &sequence(extensions)),
    ])
}

/// The certificate with its signature.
pub(crate) fn signed(body: &[u8], by: &Key) -> Vec<u8> {
    sequence(&[body.to_vec(), sequence(&[oid(ECDSA_SHA256)]), bits(&by.sign(body))])
}

/// An authority's own certificate.
pub(crate) fn authority(called: &str, key: &Key) -> Vec<u8> {
    let extensions = [
        extension(&[2, 5, 29, 19], true, &sequence(&[tlv(1, &[0xff])])),
        extension(&[2, 5, 29, 15], true, &tlv(3, &[1, 0b0000_0110])),
    ];
    signed(&body(1, called, ["200101000000Z", "400101000000Z"], &name(called), key, &extensions), key)
}

/// Bytes in PEM with this label, such as `CERTIFICATE`.
pub(crate) fn pem(kind: &str, bytes: &[u8]) -> String {
    let wrapped = STANDARD.encode(bytes).into_bytes();
    let lines: Vec<_> = wrapped.chunks(64).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", lines.join("\n"))
}
