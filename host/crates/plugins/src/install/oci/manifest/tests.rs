//! Accepted and refused manifests.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::*;
use serde_json::{Value, json};

const HEX: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn descriptor(kind: &str, size: u64) -> Value {
    json!({"mediaType": kind, "digest": HEX, "size": size})
}

fn image() -> Value {
    json!({
        "schemaVersion": 2, "mediaType": IMAGE,
        "config": descriptor(WASM_CONFIG, 10), "layers": [descriptor(WASM, 100)],
        "annotations": {"org.example.any": "thing"},
    })
}

fn content(manifest: &Value, content_type: &str, legacy: bool) -> Result<ManifestContent, String> {
    let document = ManifestDocument::parse(manifest.to_string().as_bytes(), content_type);
    document.and_then(|document| document.into_content(legacy)).map_err(|error| error.to_string())
}

#[test]
fn the_manifest_of_a_component_is_accepted() {
    let ManifestContent::Component { config, layer, .. } = content(&image(), IMAGE, false).unwrap() else {
        panic!("an index")
    };
    assert_eq!((config.size, layer.size, layer.digest().unwrap().as_str()), (10, 100, HEX));
    let mut quiet = image();
    quiet["mediaType"].take();
    assert!(content(&quiet, "application/vnd.oci.image.manifest.v1+json; charset=utf-8", false).is_ok());
}

#[test]
fn an_index_must_have_one_manifest_for_wasm() {
    let entry = |architecture: &str| {
        let mut entry = descriptor(IMAGE, 100);
        entry["platform"] = json!({"architecture": architecture, "os": "x"});
        entry
    };
    let index = |entries: Value| json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries});
    assert!(matches!(
        content(&index(json!([entry("amd64"), entry("wasm")])), INDEX, false),
        Ok(ManifestContent::Index(_))
    ));
    assert!(matches!(content(&index(json!([descriptor(IMAGE, 1)])), INDEX, false), Ok(ManifestContent::Index(_))));
    let many: Vec<_> = (0..65).map(|_| descriptor(IMAGE, 1)).collect();
    for (entries, words) in [
        (json!([]), "0 manifests"),
        (json!([entry("amd64")]), "0 manifests"),
        (json!([entry("wasm"), entry("wasm")]), "2 manifests"),
        (json!([descriptor(INDEX, 1)]), "0 manifests"),
        (json!([descriptor(IMAGE, MAX_MANIFEST + 1)]), "larger than the limit"),
        (json!(many), "a list of 65"),
    ] {
        let error = content(&index(entries), INDEX, false).unwrap_err();
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn other_manifests_are_refused() {
    type Edit = fn(&mut Value);
    let cases: [(Edit, &str); 22] = [
        (|m| m["schemaVersion"] = json!(1), "neither"),
        (|m| m["mediaType"] = json!(INDEX), "another type"),
        (|m| m["config"]["mediaType"] = json!("application/vnd.oci.image.config.v1+json"), "its configuration is"),
        (|m| m["config"]["digest"] = json!("sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709"), "not a digest"),
        (|m| m["config"]["size"] = json!(1u64 << 30), "larger than the limit"),
        (|m| m["layers"] = json!([]), "0 layers"),
        (|m| m["layers"] = json!([descriptor(WASM, 1), descriptor(WASM, 1)]), "2 layers"),
        (|m| m["layers"][0]["mediaType"] = json!("application/vnd.oci.image.layer.v1.tar+gzip"), "its layer is"),
        (|m| m["layers"][0]["mediaType"] = json!("application/wasm+gzip"), "its layer is"),
        (
            |m| m["layers"][0]["mediaType"] = json!("application/vnd.oci.image.layer.nondistributable.v1.tar"),
            "its layer is",
        ),
        (|m| m["layers"][0]["mediaType"] = json!(LEGACY_WASM), "legacy-media-types"),
        (|m| m["layers"][0]["urls"] = json!(["https://evil.example/x"]), "other places"),
        (|m| m["layers"][0]["digest"] = json!("sha256:e3b0c442"), "not a digest"),
        (|m| m["layers"][0]["digest"] = json!("md5:d41d8cd98f00b204e9800998ecf8427e"), "not a digest"),
        (|m| m["layers"][0]["digest"] = json!("sha256:../../../etc/passwd"), "not a digest"),
        (|m| m["layers"][0]["size"] = json!(MAX_COMPONENT + 1), "larger than the limit"),
        (|m| m["layers"][0]["size"] = json!(-1), "invalid"),
        (|m| m["layers"][0]["size"] = json!(1.5), "invalid"),
        (|m| m["layers"][0]["annotations"] = json!({TITLE: "../../x.wasm"}), "a path"),
        (|m| m["manifests"] = json!([]), "neither"),
        (|m| drop(m.as_object_mut().unwrap().remove("config")), "no configuration"),
        (|m| drop(m.as_object_mut().unwrap().remove("layers")), "0 layers"),
    ];
    for (change, words) in cases {
        let mut manifest = image();
        change(&mut manifest);
        let error = content(&manifest, IMAGE, false).unwrap_err();
        assert!(error.contains(words), "{words}: {error}\n{manifest}");
    }
    assert!(content(&image(), "text/html", false).unwrap_err().contains("sent as `text/html`"));
    assert!(content(&image(), INDEX, false).is_err());
    for text in ["", "<html>", "[]", "null", "{\"schemaVersion\":2,\"schemaVersion\":2}"] {
        assert!(ManifestDocument::parse(text.as_bytes(), IMAGE).is_err(), "{text}");
    }
    let deep = "[".repeat(100_000);
    assert!(ManifestDocument::parse(deep.as_bytes(), IMAGE).is_err());
}

#[test]
fn the_legacy_media_type_is_accepted_only_if_enabled() {
    let mut old = image();
    old["layers"][0]["mediaType"] = json!(LEGACY_WASM);
    assert!(content(&old, IMAGE, true).is_ok());
}

#[test]
fn the_configuration_must_name_the_component() {
    let layer = Digest::parse(HEX).unwrap();
    let check = |config: Value| check_config(config.to_string().as_bytes(), &layer);
    check(json!({"architecture": "wasm", "os": "wasip2", "layerDigests": [HEX], "component": {"imports": []}}))
        .unwrap();
    check(json!({"architecture": "wasm"})).unwrap();
    assert!(check(json!({"architecture": "amd64"})).is_err());
    assert!(check(json!({"architecture": "wasm", "layerDigests": [HEX, HEX]})).is_err());
    assert!(check(json!({"architecture": "wasm", "layerDigests": [HEX.replace('e', "f")]})).is_err());
    assert!(check_config(b"<html>", &layer).is_err());
}
