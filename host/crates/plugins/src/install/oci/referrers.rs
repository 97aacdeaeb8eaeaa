//! Signatures beside an artefact: by the referrers API, or where that is missing by a tag made of the digest.

use super::error::OciError;
use super::manifest::{Descriptor, IMAGE, MAX_MANIFEST};
use super::registry::Registry;
use crate::install::settings::SourceSettings;
use crate::install::signature::{Evidence, MAX_EVIDENCE, MOST_EVIDENCE, Simple};
use policy::Digest;

/// A sigstore bundle. Older versions of the format can leave the proof out that it was logged.
pub(super) const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// The text of a minisign signature over the component.
pub(super) const MINISIGN: &str = "application/vnd.portcullis.signature.minisign";

/// The text that cosign signs in its older form.
const SIMPLE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// The note with the signature over it.
const SIMPLE_SIGNATURE: &str = "dev.cosignproject.cosign/signature";

/// Everything beside a digest that we could verify it by. That there is none is an answer; that it cannot be told is an
/// error.
pub(super) async fn evidence(
    registry: &Registry<'_>,
    settings: &SourceSettings,
    about: &Digest,
) -> Result<Vec<Evidence>, OciError> {
    let mut found = Vec::new();
    for descriptor in list(registry, about).await? {
        let kind = descriptor.artifact_type.as_deref();
        if kind != Some(BUNDLE) && kind != Some(MINISIGN) {
            continue;
        }
        room(&found)?;
        found.push(one(registry, &descriptor, about).await?);
    }
    // Where there is nothing else, the older form is looked for only to say that it is not enough.
    if found.is_empty() || !settings.cosign_keys.is_empty() {
        older(registry, about, &mut found).await?;
    }
    Ok(found)
}

/// What cosign keeps under a tag of the artefact's digest, without referrers and bundles: texts and, in a note, the
/// signature over each.
async fn older(registry: &Registry<'_>, about: &Digest, found: &mut Vec<Evidence>) -> Result<(), OciError> {
    let Some(manifest) = registry.manifest(&format!("{}.sig", fallback_tag(about))).await? else { return Ok(()) };
    for layer in manifest.document.layers.iter().flatten().filter(|layer| layer.media_type == SIMPLE) {
        let Some(signature) = layer.annotation(SIMPLE_SIGNATURE) else { continue };
        room(found)?;
        layer.check("a signature", MAX_EVIDENCE)?;
        let payload = registry.blob(layer, "a signature").await?;
        found.push(Evidence::Simple(Simple { payload, signature: signature.to_owned() }));
    }
    Ok(())
}

fn room(found: &[Evidence]) -> Result<(), OciError> {
    if found.len() == MOST_EVIDENCE {
        return Err(OciError::Manifest(format!("more than {MOST_EVIDENCE} signatures are about it")));
    }
    Ok(())
}

/// What there is about a digest.
pub(super) async fn list(registry: &Registry<'_>, about: &Digest) -> Result<Vec<Descriptor>, OciError> {
    let answer = match registry.referrers(about).await? {
        Some(answer) => Some(answer),
        None => registry.manifest(&fallback_tag(about)).await?,
    };
    Ok(answer.and_then(|answer| answer.document.manifests).unwrap_or_default())
}

/// The tag that lists referrers where the API is missing.
pub(super) fn fallback_tag(about: &Digest) -> String {
    format!("sha256-{}", about.hex())
}

async fn one(registry: &Registry<'_>, descriptor: &Descriptor, about: &Digest) -> Result<Evidence, OciError> {
    let refused = |why: &str| OciError::Manifest(format!("a signature beside it is none: {why}"));
    descriptor.check("a signature's manifest", MAX_MANIFEST)?;
    if descriptor.media_type != IMAGE {
        return Err(refused("its manifest is of an unknown type"));
    }
    let manifest = registry.manifest(descriptor.digest()?.as_str()).await?;
    let document = manifest.ok_or_else(|| registry.missing("signature that it lists"))?.document;
    if document.subject.as_ref().map(|subject| subject.digest.as_str()) != Some(about.as_str()) {
        return Err(refused("it is about something else"));
    }
    if document.artifact_type != descriptor.artifact_type {
        return Err(refused("it is listed as something else"));
    }
    let Some([layer]) = document.layers.as_deref() else {
        return Err(refused("it is not exactly one layer"));
    };
    layer.check("a signature", MAX_EVIDENCE)?;
    let text = String::from_utf8(registry.blob(layer, "a signature").await?).map_err(|_| refused("it is no text"))?;
    match document.artifact_type.as_deref() {
        Some(BUNDLE) => Ok(Evidence::Bundle(text)),
        _ => Ok(Evidence::Minisign(text)),
    }
}
