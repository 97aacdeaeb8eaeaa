//! Signatures that were found for a component and are not verified yet.

/// The largest signature. A bundle contains certificates and a proof, which are small.
pub(crate) const MAX_SIGNATURE_BYTES: u64 = 256 << 10;
/// The most signatures that are read for one artifact. Each costs two requests and a verification.
pub(crate) const MAX_SIGNATURES: usize = 16;

type FromText = fn(String) -> UnverifiedSignature;

/// Signature files beside a component: the ending of the name and the kind of signature.
pub(crate) const SIGNATURE_FILES: [(&str, FromText); 2] =
    [(".minisig", UnverifiedSignature::Minisign), (".sigstore.json", UnverifiedSignature::Bundle)];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnverifiedSignature {
    /// The text of a minisign signature.
    Minisign(String),
    /// The JSON text of a sigstore bundle.
    Bundle(String),
    /// The format that cosign used in registries before sigstore bundles.
    SimpleSigning(SimpleSigning),
}

impl UnverifiedSignature {
    /// Takes JSON for a bundle and any other text for a minisign signature.
    pub fn from_text(text: String) -> Self {
        if text.trim_start().starts_with('{') { Self::Bundle(text) } else { Self::Minisign(text) }
    }
}

/// A signature in cosign's older format, simple signing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleSigning {
    pub payload: Vec<u8>,
    /// In base64.
    pub signature: String,
}
