//! Pushing a component: blobs, manifest, signatures, and finally the tag.

use super::artifact::{Artifact, to_json};
use super::error::OciError;
use super::manifest::{Descriptor, IMAGE, INDEX, ManifestDocument};
use super::referrers::{self, BUNDLE, MINISIGN};
use super::repository::{RepositoryAccess, RepositoryClient};
use crate::install::reference::OciName;
use crate::install::settings::SourceSettings;
use crate::install::signature::UnverifiedSignature;
use bytes::Bytes;
use platform::outbound::{GuardedClient, Method, header};
use policy::Digest;
use url::Url;

/// Pushes an artifact and its signatures. Returns the name of the artifact by digest.
pub(crate) async fn push(
    client: &GuardedClient,
    settings: &SourceSettings,
    name: &OciName,
    artifact: &Artifact,
    signatures: Vec<UnverifiedSignature>,
) -> Result<OciName, OciError> {
    let registry = RepositoryClient::new(client, settings, name, RepositoryAccess::Push)?;
    let digest = artifact.digest();
    // The tag comes last, so that nobody sees it without the signatures.
    push_artifact(&registry, artifact, digest.as_str()).await?;
    for signature in signatures {
        let (kind, text) = match signature {
            UnverifiedSignature::Minisign(text) => (MINISIGN, text),
            UnverifiedSignature::Bundle(text) => (BUNDLE, text),
            // Signatures of this kind are never read from a file, so there is nothing to push.
            UnverifiedSignature::SimpleSigning(_) => continue,
        };
        let signature = Artifact::from_signature(kind, text.into_bytes(), &artifact.manifest);
        let listed = push_artifact(&registry, &signature, signature.digest().as_str()).await?;
        if !listed {
            add_to_fallback_tag(&registry, &digest, &signature, kind).await?;
        }
    }
    let tag = name.tag.as_deref().unwrap_or("latest");
    push_manifest(&registry, &artifact.manifest, IMAGE, tag).await?;
    Ok(name.pinned(digest))
}

/// Returns whether the registry supports the referrers API and lists the artifact there.
async fn push_artifact(
    registry: &RepositoryClient<'_>,
    artifact: &Artifact,
    reference: &str,
) -> Result<bool, OciError> {
    for bytes in &artifact.blobs {
        push_blob(registry, bytes).await?;
    }
    push_manifest(registry, &artifact.manifest, IMAGE, reference).await
}

/// Uploads a blob in two requests, unless the registry has it already.
async fn push_blob(registry: &RepositoryClient<'_>, bytes: &[u8]) -> Result<(), OciError> {
    let digest = Digest::sha256(bytes);
    let existing = registry.send(Method::HEAD, registry.url(&format!("blobs/{digest}"))?, None, Bytes::new()).await?;
    if existing.status == 200 {
        return Ok(());
    }
    let started = registry.send(Method::POST, registry.url("blobs/uploads/")?, None, Bytes::new()).await?;
    if started.status != 202 {
        return Err(OciError::Status { what: "an upload".into(), status: started.status });
    }
    let mut url = upload_url(registry, started.headers.get(header::LOCATION).and_then(|value| value.to_str().ok()))?;
    url.query_pairs_mut().append_pair("digest", digest.as_str());
    let kind = Some("application/octet-stream");
    let put = registry.send(Method::PUT, url, kind, Bytes::copy_from_slice(bytes)).await?;
    if put.status == 201 {
        Ok(())
    } else {
        Err(OciError::Status { what: "the upload of a blob".into(), status: put.status })
    }
}

/// The upload URL that the registry names. It must be at the registry, since the credentials are sent along.
fn upload_url(registry: &RepositoryClient<'_>, location: Option<&str>) -> Result<Url, OciError> {
    let location = location.ok_or_else(|| OciError::Upload("the registry names no upload URL".into()))?;
    let url = registry.url("blobs/uploads/")?.join(location);
    let url = url.map_err(|_| OciError::Upload("the registry names no upload URL".into()))?;
    if registry.is_own_url(&url) {
        Ok(url)
    } else {
        Err(OciError::Upload("the registry sends it to another host".into()))
    }
}

/// Returns whether the registry lists the manifest as a referrer of its subject.
async fn push_manifest(
    registry: &RepositoryClient<'_>,
    text: &[u8],
    kind: &str,
    reference: &str,
) -> Result<bool, OciError> {
    let url = registry.url(&format!("manifests/{reference}"))?;
    let put = registry.send(Method::PUT, url, Some(kind), Bytes::copy_from_slice(text)).await?;
    match put.status {
        201 => Ok(put.headers.contains_key("oci-subject")),
        status => Err(OciError::Status { what: "the upload of a manifest".into(), status }),
    }
}

/// Adds a signature to the referrers tag, for registries without the referrers API.
async fn add_to_fallback_tag(
    registry: &RepositoryClient<'_>,
    subject: &Digest,
    signature: &Artifact,
    kind: &str,
) -> Result<(), OciError> {
    let mut manifests = referrers::list(registry, subject).await?;
    let mut entry = Descriptor::from_bytes(IMAGE, &signature.manifest);
    entry.artifact_type = Some(kind.to_owned());
    if manifests.iter().all(|other| other.digest != entry.digest) {
        manifests.push(entry);
    }
    let index = ManifestDocument {
        schema_version: 2,
        media_type: Some(INDEX.to_owned()),
        artifact_type: None,
        config: None,
        layers: None,
        manifests: Some(manifests),
        subject: None,
        annotations: Default::default(),
    };
    push_manifest(registry, &to_json(&index), INDEX, &referrers::fallback_tag(subject)).await.map(|_| ())
}
