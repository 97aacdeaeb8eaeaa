//! Finds the signatures of an artifact: with the referrers API, or by a tag made of the digest where that is missing.

use super::error::OciError;
use super::manifest::{Descriptor, IMAGE, MAX_MANIFEST};
use super::repository::RepositoryClient;
use crate::install::settings::SourceSettings;
use crate::install::signature::{MAX_SIGNATURE_BYTES, MAX_SIGNATURES, SimpleSigning, UnverifiedSignature};
use policy::Digest;

/// A sigstore bundle. Bundles of older versions may lack the inclusion proof.
pub(super) const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// The text of a minisign signature of the component.
pub(super) const MINISIGN: &str = "application/vnd.portcullis.signature.minisign";

/// The signed text of cosign's older format.
const SIMPLE_SIGNING: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// The annotation with the signature of that text.
const SIMPLE_SIGNING_SIGNATURE: &str = "dev.cosignproject.cosign/signature";

/// Fetches all signatures of an artifact that could be verified. No signature is fine; failing to fetch one is an error.
pub(super) async fn fetch_signatures(
    registry: &RepositoryClient<'_>,
    settings: &SourceSettings,
    subject: &Digest,
) -> Result<Vec<UnverifiedSignature>, OciError> {
    let mut found = Vec::new();
    for descriptor in list(registry, subject).await? {
        let kind = descriptor.artifact_type.as_deref();
        if kind != Some(BUNDLE) && kind != Some(MINISIGN) {
            continue;
        }
        check_count(&found)?;
        found.push(fetch_signature(registry, &descriptor, subject).await?);
    }
    // Without cosign keys the older format is fetched only to report that it is not accepted.
    if found.is_empty() || !settings.cosign_keys.is_empty() {
        fetch_simple_signing(registry, subject, &mut found).await?;
    }
    Ok(found)
}

/// Fetches signatures in cosign's older format: texts under a tag made of the digest, each with its signature in an
/// annotation.
async fn fetch_simple_signing(
    registry: &RepositoryClient<'_>,
    subject: &Digest,
    found: &mut Vec<UnverifiedSignature>,
) -> Result<(), OciError> {
    let Some(manifest) = registry.manifest(&format!("{}.sig", fallback_tag(subject))).await? else { return Ok(()) };
    for layer in manifest.document.layers.iter().flatten().filter(|layer| layer.media_type == SIMPLE_SIGNING) {
        let Some(signature) = layer.annotation(SIMPLE_SIGNING_SIGNATURE) else { continue };
        check_count(found)?;
        layer.check("a signature", MAX_SIGNATURE_BYTES)?;
        let payload = registry.blob(layer, "a signature").await?;
        found.push(UnverifiedSignature::SimpleSigning(SimpleSigning { payload, signature: signature.to_owned() }));
    }
    Ok(())
}

fn check_count(found: &[UnverifiedSignature]) -> Result<(), OciError> {
    if found.len() == MAX_SIGNATURES {
        return Err(OciError::Manifest(format!("it has more than {MAX_SIGNATURES} signatures")));
    }
    Ok(())
}

/// Lists the artifacts that refer to a digest.
pub(super) async fn list(registry: &RepositoryClient<'_>, subject: &Digest) -> Result<Vec<Descriptor>, OciError> {
    let index = match registry.referrers(subject).await? {
        Some(index) => Some(index),
        None => registry.manifest(&fallback_tag(subject)).await?,
    };
    Ok(index.and_then(|index| index.document.manifests).unwrap_or_default())
}

/// The tag that lists referrers where the referrers API is missing.
pub(super) fn fallback_tag(subject: &Digest) -> String {
    format!("sha256-{}", subject.hex())
}

async fn fetch_signature(
    registry: &RepositoryClient<'_>,
    descriptor: &Descriptor,
    subject: &Digest,
) -> Result<UnverifiedSignature, OciError> {
    let refused = |why: &str| OciError::Manifest(format!("one of its signatures is invalid: {why}"));
    descriptor.check("a signature's manifest", MAX_MANIFEST)?;
    if descriptor.media_type != IMAGE {
        return Err(refused("its manifest is of an unknown type"));
    }
    let manifest = registry.manifest(descriptor.digest()?.as_str()).await?;
    let document = manifest.ok_or_else(|| registry.missing_error("signature that it lists"))?.document;
    if document.subject.as_ref().map(|subject| subject.digest.as_str()) != Some(subject.as_str()) {
        return Err(refused("it is a signature of something else"));
    }
    if document.artifact_type != descriptor.artifact_type {
        return Err(refused("it is listed as something else"));
    }
    let Some([layer]) = document.layers.as_deref() else {
        return Err(refused("it is not exactly one layer"));
    };
    layer.check("a signature", MAX_SIGNATURE_BYTES)?;
    let text =
        String::from_utf8(registry.blob(layer, "a signature").await?).map_err(|_| refused("it is not UTF-8 text"))?;
    match document.artifact_type.as_deref() {
        Some(BUNDLE) => Ok(UnverifiedSignature::Bundle(text)),
        _ => Ok(UnverifiedSignature::Minisign(text)),
    }
}
