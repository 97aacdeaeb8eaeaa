//! Plugins from OCI registries and web servers: valid answers, and more than forty attacks by a registry.

mod cosign;
mod lies;
mod pushed;
mod signed;
mod versions;

use serde_json::Value;
use std::path::Path;
use suite::registry::Registry;
use suite::{Home, Ran, paths, portcullis};

/// A registry with one good plugin, and a folder to run the program in.
struct Stage {
    registry: Registry,
    home: Home,
    /// The good plugin.
    component: Vec<u8>,
    manifest: Value,
    /// The digest of the manifest.
    digest: String,
    /// The registry's part of the configuration.
    settings: String,
    /// The reference to check.
    reference: String,
}

impl Stage {
    fn new() -> Self {
        let registry = Registry::default();
        let component = std::fs::read(paths::guest("echo")).unwrap();
        let manifest = registry.manifest(&component);
        let digest = registry.publish("acme/echo", "1.0.0", &manifest);
        let reference = registry.reference("acme/echo:1.0.0");
        Self { registry, home: Home::new(), component, manifest, digest, settings: String::new(), reference }
    }

    /// Runs `portcullis check` on the reference.
    fn check(&self) -> Ran {
        let table = format!("[sources.\"{}/acme\"]\n{}\n", self.registry.web.address, self.settings);
        self.home.write("portcullis.toml", &table);
        portcullis(&self.home, &["check", &self.reference])
    }

    /// Publishes a changed manifest in place of the good one.
    fn republish(&mut self, change: impl FnOnce(&mut Value)) {
        change(&mut self.manifest);
        self.digest = self.registry.publish("acme/echo", "1.0.0", &self.manifest);
    }

    /// Publishes other bytes as if they were a component.
    fn serve(&mut self, bytes: &[u8]) {
        let manifest = self.registry.manifest(bytes);
        self.republish(|old| *old = manifest);
    }
}

/// Every file below a folder, with its size.
fn tree(folder: &Path) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            found.push((path.display().to_string(), metadata.len()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_tag_is_resolved_to_a_digest() {
    let stage = Stage::new();
    let ran = stage.check();
    for part in [&stage.digest, "is a plugin", "not signed by anybody", &suite::registry::sha256(&stage.component)] {
        assert!(ran.good().contains(part), "{part}: {ran:?}");
    }
    assert!(ran.stdout.contains(&format!("acme/echo@{}", stage.digest)), "{ran:?}");
}

#[test]
fn a_list_with_one_component_is_followed() {
    let mut stage = Stage::new();
    let size = stage.manifest.to_string().len();
    let entry = serde_json::json!({
        "mediaType": suite::registry::IMAGE, "digest": stage.digest, "size": size,
        "platform": {"architecture": "wasm", "os": "wasip2"},
    });
    let list = serde_json::json!({"schemaVersion": 2, "mediaType": suite::registry::INDEX, "manifests": [entry]});
    let digest = stage.registry.publish("acme/echo", "list", &list);
    stage.reference = stage.registry.reference("acme/echo:list");
    assert!(stage.check().good().contains(&format!("@{digest}")));
}

#[test]
fn a_private_registry_needs_credentials() {
    let mut stage = Stage::new();
    stage.registry.demand("reader", "canary-of-the-registry");
    assert!(stage.check().refused().contains("no token was given"));
    stage.home.write("password", "canary-of-the-registry\n");
    stage.settings = "user = \"reader\"\npassword-file = \"password\"".into();
    let ran = stage.check();
    assert!(ran.good().contains("is a plugin"));
    assert!(!format!("{ran:?}").contains("canary-of-the-registry"));
    let told: Vec<_> =
        stage.registry.web.seen().into_iter().filter(|seen| seen.everything().contains("Basic ")).collect();
    assert!(!told.is_empty() && told.iter().all(|seen| seen.path() == "/token"), "the password goes nowhere else");
    stage.home.write("password", "wrong\n");
    assert!(stage.check().refused().contains("no token was given"));
    stage.settings = "user = \"reader\"\npassword-env = \"PORTCULLIS_TEST_NOT_SET\"".into();
    assert!(stage.check().refused().contains("PORTCULLIS_TEST_NOT_SET"));
}

#[test]
fn a_web_server_is_a_source_too() {
    let component = std::fs::read(paths::guest("echo")).unwrap();
    let (digest, served) = (suite::registry::sha256(&component), component.clone());
    let web = suite::web::Web::serve(move |seen| match seen.path() {
        "/echo.wasm" => suite::web::Reply::new(200, served.clone()),
        "/moved.wasm" => suite::web::Reply::redirect("/echo.wasm"),
        _ => suite::web::Reply::new(404, ""),
    });
    let home = Home::new();
    for (path, words) in [
        ("/echo.wasm".to_owned(), None),
        (format!("/echo.wasm#{digest}"), None),
        (format!("/moved.wasm#{digest}"), None),
        (format!("/echo.wasm#sha256:{}", "0".repeat(64)), Some("does not match its digest")),
        ("/none.wasm".to_owned(), Some("no such file")),
    ] {
        let ran = portcullis(&home, &["check", &web.url(&path)]);
        match words {
            None => assert!(ran.good().contains(&format!("#{digest}")), "{ran:?}"),
            Some(words) => assert!(ran.refused().contains(words), "{ran:?}"),
        }
    }
}

#[test]
fn an_invalid_reference_is_refused_without_a_request() {
    let home = Home::new();
    for (reference, words) in [
        ("http://example.com/x.wasm", "plain http"),
        ("oci://registry.example.com/../x:1", "the repository is"),
        ("oci://registry.example.com/a/../../x:1", "the repository is"),
        ("oci://169.254.169.254/x:1", "link-local"),
        ("oci://[::ffff:169.254.169.254]/x:1", "is not a registry"),
        ("oci://[::ffff:a9fe:a9fe]/x:1", "an address inside another"),
        ("oci://10.0.0.1/x:1", "a private network"),
        ("https://169.254.169.254/x.wasm", "link-local"),
        ("docker://x/y", "is not supported"),
    ] {
        let ran = portcullis(&home, &["check", reference]);
        assert!(ran.refused().contains(words), "{reference}: {ran:?}");
    }
}
