//! A component as an artefact: what a registry keeps of it, made the same way whoever makes it.

use super::manifest::{Descriptor, Document, EMPTY, IMAGE, INDEX, WASM, WASM_CONFIG};
use crate::package::Inspection;
use policy::Digest;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// A manifest and what it names, ready to be kept somewhere.
pub(crate) struct Artefact {
    /// The manifest's text. The same component gives the same text, so it can be made again and compared.
    pub(crate) manifest: Vec<u8>,
    /// Configuration and component, or what a signature consists of.
    pub(crate) blobs: Vec<Vec<u8>>,
}

impl Artefact {
    /// Of a component that was inspected.
    pub(crate) fn component(bytes: Vec<u8>, inspection: &Inspection) -> Self {
        let config = json!({
            "architecture": "wasm",
            "os": "wasip2",
            "layerDigests": [Digest::of(&bytes)],
            "component": {"exports": inspection.exports, "imports": inspection.imports, "target": null},
        });
        let config = config.to_string().into_bytes();
        let document = Document {
            config: Some(Descriptor::of(WASM_CONFIG, &config)),
            layers: Some(vec![Descriptor::of(WASM, &bytes)]),
            // Other tools look for them here.
            annotations: inspection.claims.annotations(),
            ..document(None)
        };
        Self { manifest: text(&document), blobs: vec![config, bytes] }
    }

    /// Of a signature about another artefact.
    pub(crate) fn signature(kind: &str, signature: Vec<u8>, about: &[u8]) -> Self {
        let empty = b"{}".to_vec();
        let document = Document {
            config: Some(Descriptor::of(EMPTY, &empty)),
            layers: Some(vec![Descriptor::of(kind, &signature)]),
            subject: Some(Descriptor::of(IMAGE, about)),
            ..document(Some(kind))
        };
        Self { manifest: text(&document), blobs: vec![empty, signature] }
    }

    /// The manifest's digest, by which a registry names it.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&self.manifest)
    }

    /// Writes it into a folder as an OCI image layout, which other tools can copy to registries.
    pub(crate) fn write_layout(&self, folder: &Path) -> std::io::Result<()> {
        let blobs = folder.join("blobs/sha256");
        std::fs::create_dir_all(&blobs)?;
        for blob in self.blobs.iter().chain([&self.manifest]) {
            std::fs::write(blobs.join(Digest::of(blob).hex()), blob)?;
        }
        let index = json!({
            "schemaVersion": 2,
            "mediaType": INDEX,
            "manifests": [Descriptor::of(IMAGE, &self.manifest)],
        });
        std::fs::write(folder.join("index.json"), index.to_string())?;
        std::fs::write(folder.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#)
    }
}

/// An image's manifest without anything.
fn document(kind: Option<&str>) -> Document {
    Document {
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

/// As it is sent.
pub(super) fn text(document: &Document) -> Vec<u8> {
    serde_json::to_vec(document).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::manifest::{Meaning, check_config};
    use super::*;

    #[test]
    fn what_is_made_is_what_is_taken() {
        let inspection =
            Inspection { imports: vec!["a".into()], exports: vec!["b".into()], size: 3, ..Inspection::default() };
        let made = Artefact::component(b"abc".to_vec(), &inspection);
        let document = Document::parse(&made.manifest, IMAGE).unwrap();
        let Meaning::Component { config, layer, .. } = document.meaning(false).unwrap() else { panic!("an index") };
        assert_eq!(layer.digest().unwrap(), Digest::of(b"abc"));
        assert_eq!(config.digest().unwrap(), Digest::of(&made.blobs[0]));
        check_config(&made.blobs[0], &layer.digest().unwrap()).unwrap();
        assert_eq!(made.digest(), Artefact::component(b"abc".to_vec(), &inspection).digest());
    }

    #[test]
    fn a_layout_holds_every_blob_under_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        let made = Artefact::signature(super::super::referrers::MINISIGN, b"s".to_vec(), b"m");
        made.write_layout(folder.path()).unwrap();
        let kept = std::fs::read(folder.path().join("blobs/sha256").join(made.digest().hex())).unwrap();
        assert_eq!(kept, made.manifest);
        assert_eq!(std::fs::read_dir(folder.path().join("blobs/sha256")).unwrap().count(), 3);
    }
}
