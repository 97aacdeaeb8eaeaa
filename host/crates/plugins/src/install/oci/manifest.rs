//! OCI manifests, parsed strictly: everything that is not a component and its configuration is refused before any blob is
//! fetched.

use super::error::OciError;
use crate::package::{Claims, MAX_COMPONENT};
use platform::telemetry::printable;
use platform::text::truncate_chars;
use policy::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The manifest of one artifact.
pub(super) const IMAGE: &str = "application/vnd.oci.image.manifest.v1+json";
pub(super) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(super) const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";
pub(super) const WASM: &str = "application/wasm";
/// The type of components before `application/wasm` was agreed on.
const LEGACY_WASM: &str = "application/vnd.wasm.content.layer.v1+wasm";
/// An empty configuration.
pub(super) const EMPTY: &str = "application/vnd.oci.empty.v1+json";
/// Other tools use the title as a file name.
const TITLE: &str = "org.opencontainers.image.title";

/// The largest manifest that registries accept.
pub(super) const MAX_MANIFEST: u64 = 4 << 20;
/// The largest configuration. It contains a few lists of names.
const MAX_CONFIG: u64 = 256 << 10;
/// The longest list of manifests. There is one entry per platform, and one platform for components.
const MAX_INDEX: usize = 64;

/// Refers to a blob or a manifest.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    pub(super) media_type: String,
    pub(super) digest: String,
    /// In bytes.
    pub(super) size: u64,
    /// Set for manifests of anything but images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) artifact_type: Option<String>,
    /// Other places to fetch it from. Descriptors with such URLs are refused.
    #[serde(default, skip_serializing)]
    urls: Vec<String>,
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
    pub(super) fn from_bytes(media_type: &str, bytes: &[u8]) -> Self {
        let (digest, size) = (Digest::sha256(bytes).to_string(), bytes.len() as u64);
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

    /// The digest, if its algorithm is supported.
    pub(super) fn digest(&self) -> Result<Digest, OciError> {
        Digest::parse(&self.digest).map_err(|error| OciError::Manifest(error.to_string()))
    }

    pub(super) fn annotation(&self, name: &str) -> Option<&str> {
        self.annotations.get(name).map(String::as_str)
    }

    /// Refuses descriptors with other URLs, unsafe titles or too large sizes.
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

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ManifestDocument {
    pub(super) schema_version: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) media_type: Option<String>,
    /// Set for anything but images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) artifact_type: Option<String>,
    /// Only in a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) config: Option<Descriptor>,
    /// Only in a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) layers: Option<Vec<Descriptor>>,
    /// Only in an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) manifests: Option<Vec<Descriptor>>,
    /// The artifact that this one refers to, such as the signed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) subject: Option<Descriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) annotations: BTreeMap<String, String>,
}

/// The relevant content of a manifest or index.
#[derive(Debug)]
pub(super) enum ManifestContent {
    Component {
        config: Descriptor,
        layer: Descriptor,
        claims: Claims,
    },
    /// The one manifest for components in an index.
    Index(Descriptor),
}

impl ManifestDocument {
    /// Parses a manifest that was received with this `Content-Type`.
    pub(super) fn parse(bytes: &[u8], content_type: &str) -> Result<Self, OciError> {
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        if kind != IMAGE && kind != INDEX {
            return Err(OciError::Manifest(format!(
                "it is sent as `{}`, not as a manifest",
                printable(&truncate(kind))
            )));
        }
        let document: Self = serde_json::from_slice(bytes).map_err(|error| OciError::Manifest(error.to_string()))?;
        // Header and body must agree, or two clients could read the manifest differently.
        if document.media_type.as_deref().is_some_and(|stated| stated != kind) {
            return Err(OciError::Manifest("its mediaType is another type than its Content-Type".into()));
        }
        let (image, index) = (document.config.is_some() || document.layers.is_some(), document.manifests.is_some());
        if document.schema_version != 2 || image == index || index != (kind == INDEX) {
            return Err(OciError::Manifest("it is neither the manifest of an artifact nor a list of those".into()));
        }
        Ok(document)
    }

    /// Interprets it as a component or as an index with one. `legacy`: also accept the old media type.
    pub(super) fn into_content(self, legacy: bool) -> Result<ManifestContent, OciError> {
        if let Some(list) = self.manifests {
            return choose_manifest(list).map(ManifestContent::Index);
        }
        let config = self.config.ok_or_else(|| OciError::Manifest("it has no configuration".into()))?;
        if config.media_type != WASM_CONFIG {
            let kind = printable(&truncate(&config.media_type)).into_owned();
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
                    "its layer has the old type `{LEGACY_WASM}`; legacy-media-types = true in [sources] accepts it"
                )));
            }
            other => {
                let kind = printable(&truncate(other)).into_owned();
                return Err(OciError::Manifest(format!("its layer is `{kind}`, not `{WASM}`")));
            }
        }
        layer.check("the component", MAX_COMPONENT)?;
        Ok(ManifestContent::Component { config, layer, claims: Claims::from_annotations(&self.annotations) })
    }
}

/// Chooses the only entry of an index that is for components.
fn choose_manifest(list: Vec<Descriptor>) -> Result<Descriptor, OciError> {
    if list.len() > MAX_INDEX {
        return Err(OciError::Manifest(format!("it is a list of {} manifests, more than {MAX_INDEX}", list.len())));
    }
    let wasm = |entry: &Descriptor| entry.platform.as_ref().is_none_or(|platform| platform.architecture == "wasm");
    let candidates: Vec<_> = list.into_iter().filter(|entry| entry.media_type == IMAGE && wasm(entry)).collect();
    let count = candidates.len();
    let Ok([entry]) = <[Descriptor; 1]>::try_from(candidates) else {
        return Err(OciError::Manifest(format!(
            "it is a list with {count} manifests for wasm; name one by its digest"
        )));
    };
    entry.check("the manifest", MAX_MANIFEST)?;
    Ok(entry)
}

/// Checks that a configuration is for wasm and for this component.
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
        let architecture = printable(&truncate(&config.architecture)).into_owned();
        return Err(OciError::Config(format!("it is for `{architecture}`, not for wasm")));
    }
    if !config.layer_digests.is_empty() && config.layer_digests != [layer.as_str()] {
        return Err(OciError::Config("it belongs to another component (layerDigests)".into()));
    }
    Ok(())
}

fn truncate(text: &str) -> String {
    truncate_chars(text, 100).to_owned()
}

#[cfg(test)]
mod tests;
