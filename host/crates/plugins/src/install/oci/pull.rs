//! Pulling a component: resolves the name to a manifest, then fetches configuration, signatures and component.

use super::error::OciError;
use super::manifest::{Descriptor, ManifestContent, check_config};
use super::referrers;
use super::repository::{FetchedManifest, RepositoryAccess, RepositoryClient};
use crate::install::reference::OciName;
use crate::install::settings::SourceSettings;
use crate::install::signature::UnverifiedSignature;
use crate::package::Claims;
use platform::outbound::GuardedClient;
use policy::Digest;

pub(crate) struct PulledComponent {
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: Digest,
    /// The manifest or index that names the component by its digest. Some tools sign it instead of the component.
    pub(crate) manifest: Vec<u8>,
    /// The name of the artifact by digest.
    pub(crate) pinned: OciName,
    pub(crate) signatures: Vec<UnverifiedSignature>,
    pub(crate) claims: Claims,
}

/// Pulls a component, and its signatures if they are wanted.
pub(crate) async fn pull(
    client: &GuardedClient,
    settings: &SourceSettings,
    name: &OciName,
    with_signatures: bool,
) -> Result<PulledComponent, OciError> {
    let registry = RepositoryClient::new(client, settings, name, RepositoryAccess::Pull)?;
    let found = resolve(&registry, settings, name).await?;
    let config = registry.blob(&found.config, "the configuration").await?;
    let digest = found.layer.digest()?;
    check_config(&config, &digest)?;
    // Before the component, which is larger.
    let signatures = match with_signatures {
        true => referrers::fetch_signatures(&registry, settings, &found.top).await?,
        false => vec![],
    };
    let bytes = registry.blob(&found.layer, "the component").await?;
    let pinned = name.pinned(found.top);
    Ok(PulledComponent { bytes, digest, manifest: found.manifest, pinned, signatures, claims: found.claims })
}

/// The digest of the component that a name refers to now.
pub(crate) async fn latest_digest(
    client: &GuardedClient,
    settings: &SourceSettings,
    name: &OciName,
) -> Result<Digest, OciError> {
    let registry = RepositoryClient::new(client, settings, name, RepositoryAccess::Pull)?;
    resolve(&registry, settings, name).await?.layer.digest()
}

struct ResolvedArtifact {
    /// The digest that the name resolves to: of the manifest, or of the index around it.
    top: Digest,
    /// The text with that digest.
    manifest: Vec<u8>,
    config: Descriptor,
    layer: Descriptor,
    claims: Claims,
}

/// Resolves a name to a manifest, possibly through one index.
async fn resolve(
    registry: &RepositoryClient<'_>,
    settings: &SourceSettings,
    name: &OciName,
) -> Result<ResolvedArtifact, OciError> {
    let tag = name.tag.as_deref().unwrap_or("latest");
    let reference = name.digest.as_ref().map_or(tag, Digest::as_str);
    let top = require_manifest(registry, reference).await?;
    let (digest, text) = (top.digest, top.bytes);
    let entry = match top.document.into_content(settings.legacy_media_types)? {
        ManifestContent::Component { config, layer, claims } => {
            return Ok(ResolvedArtifact { top: digest, manifest: text, config, layer, claims });
        }
        ManifestContent::Index(entry) => entry,
    };
    let inner = require_manifest(registry, entry.digest()?.as_str()).await?;
    let (expected, found) = (entry.size, inner.bytes.len() as u64);
    if expected != found {
        return Err(OciError::Size { what: "the manifest".into(), expected, found });
    }
    match inner.document.into_content(settings.legacy_media_types)? {
        ManifestContent::Component { config, layer, claims } => {
            Ok(ResolvedArtifact { top: digest, manifest: text, config, layer, claims })
        }
        ManifestContent::Index(_) => Err(OciError::Manifest("it is a list inside a list".into())),
    }
}

async fn require_manifest(registry: &RepositoryClient<'_>, reference: &str) -> Result<FetchedManifest, OciError> {
    registry.manifest(reference).await?.ok_or_else(|| registry.missing_error(&format!("manifest `{reference}`")))
}
