//! Publishing: blobs first, then the manifest that names them, then signatures about it.

use super::artefact::{Artefact, text};
use super::error::OciError;
use super::manifest::{Descriptor, Document, IMAGE, INDEX};
use super::referrers::{self, BUNDLE, MINISIGN};
use super::registry::{Access, Registry};
use crate::install::reference::OciName;
use crate::install::settings::SourceSettings;
use crate::install::signature::Evidence;
use bytes::Bytes;
use platform::outbound::{Guarded, Method, header};
use policy::Digest;
use url::Url;

/// Publishes an artefact under a name, with signatures about it. Gives the artefact's name by digest.
pub(crate) async fn push(
    guarded: &Guarded,
    settings: &SourceSettings,
    name: &OciName,
    artefact: &Artefact,
    signatures: Vec<Evidence>,
) -> Result<OciName, OciError> {
    let registry = Registry::new(guarded, settings, name, Access::Push)?;
    let digest = artefact.digest();
    // Signatures are there before the tag is: nobody sees the tag without them.
    put(&registry, artefact, digest.as_str()).await?;
    for signature in signatures {
        let (kind, text) = match signature {
            Evidence::Minisign(text) => (MINISIGN, text),
            Evidence::Bundle(text) => (BUNDLE, text),
            // No file holds one: there is nothing that could be pushed.
            Evidence::Simple(_) => continue,
        };
        let signature = Artefact::signature(kind, text.into_bytes(), &artefact.manifest);
        let listed = put(&registry, &signature, signature.digest().as_str()).await?;
        if !listed {
            list(&registry, &digest, &signature, kind).await?;
        }
    }
    let tag = name.tag.as_deref().unwrap_or("latest");
    manifest(&registry, &artefact.manifest, IMAGE, tag).await?;
    Ok(name.pinned(digest))
}

/// Whether the registry itself lists what it was given as a referrer.
async fn put(registry: &Registry<'_>, artefact: &Artefact, reference: &str) -> Result<bool, OciError> {
    for bytes in &artefact.blobs {
        blob(registry, bytes).await?;
    }
    manifest(registry, &artefact.manifest, IMAGE, reference).await
}

/// One upload in two requests, if the blob is not there yet.
async fn blob(registry: &Registry<'_>, bytes: &[u8]) -> Result<(), OciError> {
    let digest = Digest::of(bytes);
    let there = registry.send(Method::HEAD, registry.url(&format!("blobs/{digest}"))?, None, Bytes::new()).await?;
    if there.status == 200 {
        return Ok(());
    }
    let begun = registry.send(Method::POST, registry.url("blobs/uploads/")?, None, Bytes::new()).await?;
    if begun.status != 202 {
        return Err(OciError::Status { what: "an upload".into(), status: begun.status });
    }
    let mut at = upload_address(registry, begun.headers.get(header::LOCATION).and_then(|value| value.to_str().ok()))?;
    at.query_pairs_mut().append_pair("digest", digest.as_str());
    let kind = Some("application/octet-stream");
    let put = registry.send(Method::PUT, at, kind, Bytes::copy_from_slice(bytes)).await?;
    if put.status == 201 {
        Ok(())
    } else {
        Err(OciError::Status { what: "the upload of a blob".into(), status: put.status })
    }
}

/// Where a registry wants an upload: at itself, since our credentials go along.
fn upload_address(registry: &Registry<'_>, location: Option<&str>) -> Result<Url, OciError> {
    let location = location.ok_or_else(|| OciError::Upload("the registry does not say where to".into()))?;
    let url = registry.url("blobs/uploads/")?.join(location);
    let url = url.map_err(|_| OciError::Upload("the registry does not say where to".into()))?;
    if registry.owns(&url) { Ok(url) } else { Err(OciError::Upload("the registry sends it to somebody else".into())) }
}

async fn manifest(registry: &Registry<'_>, text: &[u8], kind: &str, reference: &str) -> Result<bool, OciError> {
    let url = registry.url(&format!("manifests/{reference}"))?;
    let put = registry.send(Method::PUT, url, Some(kind), Bytes::copy_from_slice(text)).await?;
    match put.status {
        201 => Ok(put.headers.contains_key("oci-subject")),
        status => Err(OciError::Status { what: "the upload of a manifest".into(), status }),
    }
}

/// Adds a signature to the tag that lists referrers where the registry does not.
async fn list(registry: &Registry<'_>, about: &Digest, signature: &Artefact, kind: &str) -> Result<(), OciError> {
    let mut manifests = referrers::list(registry, about).await?;
    let mut entry = Descriptor::of(IMAGE, &signature.manifest);
    entry.artifact_type = Some(kind.to_owned());
    if manifests.iter().all(|other| other.digest != entry.digest) {
        manifests.push(entry);
    }
    let index = Document {
        schema_version: 2,
        media_type: Some(INDEX.to_owned()),
        artifact_type: None,
        config: None,
        layers: None,
        manifests: Some(manifests),
        subject: None,
        annotations: Default::default(),
    };
    manifest(registry, &text(&index), INDEX, &referrers::fallback_tag(about)).await.map(|_| ())
}
