//! OCI artifacts of components and signatures. The same component always makes the same artifact.

use super::manifest::{Descriptor, EMPTY, IMAGE, INDEX, ManifestDocument, WASM, WASM_CONFIG};
use crate::package::Inspection;
use policy::Digest;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// A manifest and its blobs, ready to be pushed or written.
pub(crate) struct Artifact {
    /// The text of the manifest. Deterministic, so that it can be made again and compared.
    pub(crate) manifest: Vec<u8>,
    /// Configuration and component, or the parts of a signature.
    pub(crate) blobs: Vec<Vec<u8>>,
}

impl Artifact {
    pub(crate) fn from_component(bytes: Vec<u8>, inspection: &Inspection) -> Self {
        let config = json!({
            "architecture": "wasm",
            "os": "wasip2",
            "layerDigests": [Digest::sha256(&bytes)],
            "component": {"exports": inspection.exports, "imports": inspection.imports, "target": null},
        });
        let config = config.to_string().into_bytes();
        let document = ManifestDocument {
            config: Some(Descriptor::from_bytes(WASM_CONFIG, &config)),
            layers: Some(vec![Descriptor::from_bytes(WASM, &bytes)]),
            // Other tools look for the claims here.
            annotations: inspection.claims.to_annotations(),
            ..empty_document(None)
        };
        Self { manifest: to_json(&document), blobs: vec![config, bytes] }
    }

    /// A signature of the artifact with this manifest.
    pub(crate) fn from_signature(kind: &str, signature: Vec<u8>, subject: &[u8]) -> Self {
        let empty = b"{}".to_vec();
        let document = ManifestDocument {
            config: Some(Descriptor::from_bytes(EMPTY, &empty)),
            layers: Some(vec![Descriptor::from_bytes(kind, &signature)]),
            subject: Some(Descriptor::from_bytes(IMAGE, subject)),
            ..empty_document(Some(kind))
        };
        Self { manifest: to_json(&document), blobs: vec![empty, signature] }
    }

    /// The digest of the manifest, by which registries identify the artifact.
    pub(crate) fn digest(&self) -> Digest {
        Digest::sha256(&self.manifest)
    }

    /// Writes the artifact as an OCI image layout, which other tools can copy to registries.
    pub(crate) fn write_layout(&self, folder: &Path) -> std::io::Result<()> {
        let blobs = folder.join("blobs/sha256");
        std::fs::create_dir_all(&blobs)?;
        for blob in self.blobs.iter().chain([&self.manifest]) {
            std::fs::write(blobs.join(Digest::sha256(blob).hex()), blob)?;
        }
        let index = json!({
            "schemaVersion": 2,
            "mediaType": INDEX,
            "manifests": [Descriptor::from_bytes(IMAGE, &self.manifest)],
        });
        std::fs::write(folder.join("index.json"), index.to_string())?;
        std::fs::write(folder.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#)
    }
}

fn empty_document(kind: Option<&str>) -> ManifestDocument {
    ManifestDocument {
        schema_version: 2,
        media_type: Some(IMAGE.to_owned()),
        artifact_type: kind.map(str::to_owned),
        config: None,
        layers: None,
        manifests: None,
        subject: None,
        annotations: BTreeMap::new(),
    }
}

pub(super) fn to_json(document: &ManifestDocument) -> Vec<u8> {
    serde_json::to_vec(document).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::manifest::{ManifestContent, check_config};
    use super::*;

    #[test]
    fn a_component_artifact_is_accepted_by_the_parser() {
        let inspection =
            Inspection { imports: vec!["a".into()], exports: vec!["b".into()], size: 3, ..Inspection::default() };
        let made = Artifact::from_component(b"abc".to_vec(), &inspection);
        let document = ManifestDocument::parse(&made.manifest, IMAGE).unwrap();
        let ManifestContent::Component { config, layer, .. } = document.into_content(false).unwrap() else {
            panic!("an index")
        };
        assert_eq!(layer.digest().unwrap(), Digest::sha256(b"abc"));
        assert_eq!(config.digest().unwrap(), Digest::sha256(&made.blobs[0]));
        check_config(&made.blobs[0], &layer.digest().unwrap()).unwrap();
        assert_eq!(made.digest(), Artifact::from_component(b"abc".to_vec(), &inspection).digest());
    }

    #[test]
    fn a_layout_stores_each_blob_under_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        let made = Artifact::from_signature(super::super::referrers::MINISIGN, b"s".to_vec(), b"m");
        made.write_layout(folder.path()).unwrap();
        let kept = std::fs::read(folder.path().join("blobs/sha256").join(made.digest().hex())).unwrap();
        assert_eq!(kept, made.manifest);
        assert_eq!(std::fs::read_dir(folder.path().join("blobs/sha256")).unwrap().count(), 3);
    }
}
