//! What a registry says an artefact consists of. Read strictly: whatever is not a component and its configuration is
//! refused before anything of it is fetched.

use super::error::OciError;
use crate::package::{Claims, MAX_COMPONENT};
use platform::telemetry::printable;
use policy::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A manifest of one artefact.
pub(super) const IMAGE: &str = "application/vnd.oci.image.manifest.v1+json";
/// A list of manifests.
pub(super) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The configuration of a component.
pub(super) const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// A component.
pub(super) const WASM: &str = "application/wasm";
/// The same before that type was agreed on.
const LEGACY_WASM: &str = "application/vnd.wasm.content.layer.v1+wasm";
/// The configuration that says nothing.
pub(super) const EMPTY: &str = "application/vnd.oci.empty.v1+json";
/// A title is shown by other tools as the name of a file.
const TITLE: &str = "org.opencontainers.image.title";

/// The largest manifest, as registries bound it.
pub(super) const MAX_MANIFEST: u64 = 4 << 20;
/// The largest configuration: a few lists of names.
const MAX_CONFIG: u64 = 256 << 10;
/// The longest list of manifests: ours have one entry a platform, and there is one platform.
const MAX_INDEX: usize = 64;

/// What a blob or a manifest is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    /// Its type.
    pub(super) media_type: String,
    /// Its digest.
    pub(super) digest: String,
    /// Its size in bytes.
    pub(super) size: u64,
    /// For manifests of something else than images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) artifact_type: Option<String>,
    /// Other places to fetch it from; nobody vouches for those.
    #[serde(default, skip_serializing)]
    urls: Vec<String>,
    /// Notes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
    #[serde(default, skip_serializing)]
    platform: Option<Platform>,
}

#[derive(Debug, Clone, Deserialize)]
struct Platform {
    #[serde(default)]
    architecture: String,
}

impl Descriptor {
    /// Of these bytes.
    pub(super) fn of(media_type: &str, bytes: &[u8]) -> Self {
        let (digest, size) = (Digest::of(bytes).to_string(), bytes.len() as u64);
        let media_type = media_type.to_owned();
        Self {
            media_type,
            digest,
            size,
            artifact_type: None,
            urls: vec![],
            annotations: BTreeMap::new(),
            platform: None,
        }
    }

    /// Its digest, if it is one that we can check.
    pub(super) fn digest(&self) -> Result<Digest, OciError> {
        Digest::parse(&self.digest).map_err(|error| OciError::Manifest(error.to_string()))
    }

    /// One of its notes.
    pub(super) fn annotation(&self, name: &str) -> Option<&str> {
        self.annotations.get(name).map(String::as_str)
    }

    /// Refuses what could lead elsewhere or is too large.
    pub(super) fn check(&self, what: &str, limit: u64) -> Result<(), OciError> {
        self.digest()?;
        if !self.urls.is_empty() {
            return Err(OciError::Manifest(format!("{what} names other places to fetch it from (urls)")));
        }
        if self
            .annotations
            .get(TITLE)
            .is_some_and(|title| title.contains(['/', '\\']) || title.chars().any(char::is_control))
        {
            return Err(OciError::Manifest(format!("{what} has a title that is a path")));
        }
        if self.size > limit {
            return Err(OciError::TooLarge { what: what.to_owned(), size: self.size, limit });
        }
        Ok(())
    }
}

/// A manifest of any kind.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    /// Always 2.
    pub(super) schema_version: u8,
    /// Its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) media_type: Option<String>,
    /// Of something else than an image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) artifact_type: Option<String>,
    /// Of one artefact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) config: Option<Descriptor>,
    /// Of one artefact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) layers: Option<Vec<Descriptor>>,
    /// Of a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) manifests: Option<Vec<Descriptor>>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) subject: Option<Descriptor>,
    /// Notes, among them who made it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) annotations: BTreeMap<String, String>,
}

/// What a reference turned out to mean.
#[derive(Debug)]
pub(super) enum Meaning {
    /// A component.
    Component {
        /// Its configuration.
        config: Descriptor,
        /// Itself.
        layer: Descriptor,
        /// What is claimed of it.
        claims: Claims,
    },
    /// A list with one manifest for us.
    Index(Descriptor),
}

impl Document {
    /// Reads the text of a manifest that was sent with this `Content-Type`.
    pub(super) fn parse(bytes: &[u8], content_type: &str) -> Result<Self, OciError> {
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        if kind != IMAGE && kind != INDEX {
            return Err(OciError::Manifest(format!("it is sent as `{}`, not as a manifest", printable(&cut(kind)))));
        }
        let document: Self = serde_json::from_slice(bytes).map_err(|error| OciError::Manifest(error.to_string()))?;
        // Whoever reads the type in the one place must see what is read by the other.
        if document.media_type.as_deref().is_some_and(|said| said != kind) {
            return Err(OciError::Manifest("it says another type of itself than it is sent with".into()));
        }
        let (image, index) = (document.config.is_some() || document.layers.is_some(), document.manifests.is_some());
        if document.schema_version != 2 || image == index || index != (kind == INDEX) {
            return Err(OciError::Manifest("it is neither the manifest of an artefact nor a list of those".into()));
        }
        Ok(document)
    }

    /// What this means for whoever wants a component.
    pub(super) fn meaning(self, legacy: bool) -> Result<Meaning, OciError> {
        if let Some(list) = self.manifests {
            return chosen(list).map(Meaning::Index);
        }
        let config = self.config.ok_or_else(|| OciError::Manifest("it has no configuration".into()))?;
        if config.media_type != WASM_CONFIG {
            let kind = printable(&cut(&config.media_type)).into_owned();
            return Err(OciError::Manifest(format!("its configuration is `{kind}`; a component's is `{WASM_CONFIG}`")));
        }
        config.check("the configuration", MAX_CONFIG)?;
        let layers = self.layers.unwrap_or_default();
        let count = layers.len();
        let Ok([layer]) = <[Descriptor; 1]>::try_from(layers) else {
            return Err(OciError::Manifest(format!("it has {count} layers; a component is exactly one")));
        };
        match layer.media_type.as_str() {
            WASM => {}
            LEGACY_WASM if legacy => {}
            LEGACY_WASM => {
                return Err(OciError::Manifest(format!(
                    "its layer has the old type `{LEGACY_WASM}`; legacy-media-types = true in [sources] takes it"
                )));
            }
            other => {
                let kind = printable(&cut(other)).into_owned();
                return Err(OciError::Manifest(format!("its layer is `{kind}`, not `{WASM}`")));
            }
        }
        layer.check("the component", MAX_COMPONENT)?;
        Ok(Meaning::Component { config, layer, claims: Claims::of_annotations(&self.annotations) })
    }
}

/// The one entry of a list that is for us.
fn chosen(list: Vec<Descriptor>) -> Result<Descriptor, OciError> {
    if list.len() > MAX_INDEX {
        return Err(OciError::Manifest(format!("it is a list of {} manifests, more than {MAX_INDEX}", list.len())));
    }
    let wasm = |entry: &Descriptor| entry.platform.as_ref().is_none_or(|platform| platform.architecture == "wasm");
    let ours: Vec<_> = list.into_iter().filter(|entry| entry.media_type == IMAGE && wasm(entry)).collect();
    let count = ours.len();
    let Ok([entry]) = <[Descriptor; 1]>::try_from(ours) else {
        return Err(OciError::Manifest(format!(
            "it is a list with {count} manifests for wasm; name one by its digest"
        )));
    };
    entry.check("the manifest", MAX_MANIFEST)?;
    Ok(entry)
}

/// Checks a component's configuration, as far as it says something that could be wrong.
pub(super) fn check_config(bytes: &[u8], layer: &Digest) -> Result<(), OciError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct WasmConfig {
        architecture: String,
        #[serde(default)]
        layer_digests: Vec<String>,
    }
    let config: WasmConfig = serde_json::from_slice(bytes).map_err(|error| OciError::Config(error.to_string()))?;
    if config.architecture != "wasm" {
        let architecture = printable(&cut(&config.architecture)).into_owned();
        return Err(OciError::Config(format!("it is for `{architecture}`, not for wasm")));
    }
    if !config.layer_digests.is_empty() && config.layer_digests != [layer.as_str()] {
        return Err(OciError::Config("it belongs to another component (layerDigests)".into()));
    }
    Ok(())
}

fn cut(text: &str) -> String {
    text.chars().take(100).collect()
}

#[cfg(test)]
mod tests;
