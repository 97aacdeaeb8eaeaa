//! Plugins in registries of artefacts: an own small client, since what a registry says decides what we run.
//!
//! A tag is looked up once and everything after that goes by digest; nothing is believed that was not counted and
//! digested here, and credentials go to the registry and to whom the operator names.

mod artefact;
mod challenge;
mod error;
mod manifest;
mod push;
mod referrers;
mod registry;

pub(super) use artefact::Artefact;
pub(super) use error::OciError;
pub(super) use push::push;

use super::reference::OciName;
use super::settings::SourceSettings;
use super::signature::Evidence;
use crate::package::Claims;
use manifest::{Descriptor, Meaning, check_config};
use platform::outbound::Guarded;
use policy::Digest;
use registry::{Access, Manifest, Registry};

/// A component as a registry has it.
pub(super) struct Pulled {
    /// The component.
    pub(super) bytes: Vec<u8>,
    /// Of those bytes.
    pub(super) digest: Digest,
    /// What names the component by its digest, and is what some signatures are about.
    pub(super) manifest: Vec<u8>,
    /// The artefact by its digest.
    pub(super) pinned: OciName,
    /// What is there to verify it by.
    pub(super) evidence: Vec<Evidence>,
    /// What is claimed of it.
    pub(super) claims: Claims,
}

/// The artefact of a name, with its signatures if they are wanted.
pub(super) async fn pull(
    guarded: &Guarded,
    settings: &SourceSettings,
    name: &OciName,
    signatures: bool,
) -> Result<Pulled, OciError> {
    let registry = Registry::new(guarded, settings, name, Access::Pull)?;
    let found = find(&registry, settings, name).await?;
    let config = registry.blob(&found.config, "the configuration").await?;
    let digest = found.layer.digest()?;
    check_config(&config, &digest)?;
    // Before the bytes, which are larger.
    let evidence = match signatures {
        true => referrers::evidence(&registry, settings, &found.top).await?,
        false => vec![],
    };
    let bytes = registry.blob(&found.layer, "the component").await?;
    let pinned = name.pinned(found.top);
    Ok(Pulled { bytes, digest, manifest: found.manifest, pinned, evidence, claims: found.claims })
}

/// The digest of the component that a name means now.
pub(super) async fn newest(guarded: &Guarded, settings: &SourceSettings, name: &OciName) -> Result<Digest, OciError> {
    let registry = Registry::new(guarded, settings, name, Access::Pull)?;
    find(&registry, settings, name).await?.layer.digest()
}

struct Located {
    /// The digest that the reference means: of the manifest, or of the index around it.
    top: Digest,
    /// The text of what that digest is of.
    manifest: Vec<u8>,
    config: Descriptor,
    layer: Descriptor,
    claims: Claims,
}

/// What a name means: a manifest, perhaps through one index.
async fn find(registry: &Registry<'_>, settings: &SourceSettings, name: &OciName) -> Result<Located, OciError> {
    let tag = name.tag.as_deref().unwrap_or("latest");
    let wanted = name.digest.as_ref().map_or(tag, Digest::as_str);
    let top = existing(registry, wanted).await?;
    let (digest, text) = (top.digest, top.bytes);
    let entry = match top.document.meaning(settings.legacy_media_types)? {
        Meaning::Component { config, layer, claims } => {
            return Ok(Located { top: digest, manifest: text, config, layer, claims });
        }
        Meaning::Index(entry) => entry,
    };
    let inner = existing(registry, entry.digest()?.as_str()).await?;
    let (expected, found) = (entry.size, inner.bytes.len() as u64);
    if expected != found {
        return Err(OciError::Size { what: "the manifest".into(), expected, found });
    }
    match inner.document.meaning(settings.legacy_media_types)? {
        Meaning::Component { config, layer, claims } => {
            Ok(Located { top: digest, manifest: text, config, layer, claims })
        }
        Meaning::Index(_) => Err(OciError::Manifest("it is a list inside a list".into())),
    }
}

async fn existing(registry: &Registry<'_>, what: &str) -> Result<Manifest, OciError> {
    registry.manifest(what).await?.ok_or_else(|| registry.missing(&format!("manifest `{what}`")))
}
