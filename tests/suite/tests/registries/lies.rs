//! Invalid or untrustworthy answers of a registry. All are refused, and no files are left behind.

use super::{Stage, tree};
use serde_json::{Value, json};
use suite::registry::{IMAGE, INDEX, WASM};
use suite::web::{Reply, Web};

/// A name, how a good registry is spoilt, and the expected error.
type Lie = (&'static str, fn(&mut Stage), &'static str);

const LIES: &[Lie] = &[
    ("wrong layer digest", |stage| swap(stage, "layer"), "the component does not match its digest"),
    ("wrong config digest", |stage| swap(stage, "config"), "the configuration does not match its digest"),
    ("size smaller than the blob", |stage| resize(stage, -1), "is larger than"),
    ("size larger than the blob", |stage| resize(stage, 1), "and its descriptor says"),
    ("endless body", |stage| on(stage, "/blobs/", || Reply::new(200, "").endless()), "is larger than"),
    ("endless manifest", |stage| on(stage, "/manifests/", || Reply::new(200, "").endless()), "is larger than"),
    ("slow-loris", |stage| on(stage, "/blobs/", || Reply::new(200, "x".repeat(500)).dripping()), "so slowly"),
    ("truncated", |stage| on(stage, "/blobs/", || Reply::new(200, "x".repeat(100)).cut()), "cannot be reached"),
    ("200 with HTML", |stage| on(stage, "/manifests/", html), "sent as `text/html`"),
    ("another manifest than the digest", another_manifest, "the manifest does not match its digest"),
    ("a digest that is gone", gone, "the registry has no manifest"),
    ("Docker-Content-Digest lies", lying_header, "the manifest does not match its digest"),
    ("sha1 digest", |stage| redigest(stage, "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709"), "is not a digest"),
    ("md5 digest", |stage| redigest(stage, "md5:d41d8cd98f00b204e9800998ecf8427e"), "is not a digest"),
    ("short digest", |stage| redigest(stage, "sha256:e3b0c442"), "is not a digest"),
    ("digest that is a path", |stage| redigest(stage, "sha256:../../../etc/passwd"), "is not a digest"),
    ("two layers", |stage| stage.republish(double), "it has 2 layers"),
    ("zero layers", |stage| stage.republish(|m| m["layers"] = json!([])), "it has 0 layers"),
    ("a list in a list", |stage| list(stage, INDEX), "0 manifests for wasm"),
    ("a list in a list, called a manifest", |stage| list(stage, IMAGE), "a list inside a list"),
    ("a list of 10,000", long_list, "a list of 10000 manifests"),
    ("a list that is a manifest too", |stage| stage.republish(|m| m["manifests"] = json!([])), "neither"),
    (
        "layer from elsewhere",
        |stage| stage.republish(|m| m["layers"][0]["urls"] = json!(["https://a.example"])),
        "(urls)",
    ),
    ("gzip layer", |stage| retype(stage, "application/vnd.oci.image.layer.v1.tar+gzip"), "its layer is"),
    (
        "foreign layer",
        |stage| retype(stage, "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"),
        "its layer is",
    ),
    ("legacy media type", |stage| retype(stage, "application/vnd.wasm.content.layer.v1+wasm"), "legacy-media-types"),
    (
        "an image for processors",
        |stage| stage.republish(|m| m["config"]["mediaType"] = json!("application/vnd.oci.image.config.v1+json")),
        "its configuration is",
    ),
    ("configuration of another component", foreign_config, "it belongs to another component"),
    ("core module", |stage| stage.serve(&[0, b'a', b's', b'm', 1, 0, 0, 0]), "it is a core module"),
    ("precompiled component", |stage| stage.serve(b"\x7fELF\x02\x01\x01\xc8wasmtime"), "precompiled plugins are never"),
    ("machine code", |stage| stage.serve(b"\x7fELF\x02\x01\x01\x00"), "machine code (ELF)"),
    ("a script", |stage| stage.serve(b"#!/bin/sh"), "it is not WebAssembly"),
    (
        "title that is a path",
        |stage| {
            stage
                .republish(|m| m["layers"][0]["annotations"] = json!({"org.opencontainers.image.title": "../../bin/x"}))
        },
        "a title that is a path",
    ),
    ("realm in the clear", |stage| realm(stage, "http://registry.example.com/token"), "is not https"),
    ("realm at another host", |stage| realm(stage, "https://evil.example/token"), "is another host"),
    ("realm at the metadata service", |stage| realm(stage, "http://169.254.169.254/latest"), "is not https"),
    ("realm at the metadata service, encrypted", |stage| realm(stage, "https://169.254.169.254/"), "is another host"),
    ("realm that redirects", redirected_token, "requests for tokens are not redirected"),
    (
        "blob redirect to the metadata service",
        |stage| on(stage, "/blobs/", || Reply::redirect("http://169.254.169.254/")),
        "is not https",
    ),
    (
        "blob redirect to a private network",
        |stage| on(stage, "/blobs/", || Reply::redirect("https://10.0.0.1/")),
        "a private network",
    ),
    ("redirect loop", |stage| stage.registry.lie(|seen| Some(Reply::redirect(&seen.target))), "there were too many"),
    ("401 loop", |stage| stage.registry.lie(unauthorized), "refuses access"),
    ("401 without a word", |stage| on(stage, "/v2/", || Reply::new(401, "")), "does not say how"),
    ("500", |stage| on(stage, "/v2/", || Reply::new(500, "")), "answers 500"),
];

#[test]
fn invalid_registry_answers_are_refused_and_leave_no_files() {
    let mut refused = 0;
    for (name, tell, words) in LIES {
        let mut stage = Stage::new();
        stage.home.write("password", "canary-of-the-registry\n");
        stage.settings = "user = \"reader\"\npassword-file = \"password\"".into();
        tell(&mut stage);
        stage.home.write("portcullis.toml", "");
        let before: Vec<_> = tree(stage.home.path()).into_iter().filter(|(path, _)| !path.ends_with(".toml")).collect();
        let ran = stage.check();
        assert!(ran.refused().contains(words), "{name}: {}", ran.stderr);
        assert!(!format!("{ran:?}").contains("canary-of-the-registry"), "{name}");
        let after: Vec<_> = tree(stage.home.path()).into_iter().filter(|(path, _)| !path.ends_with(".toml")).collect();
        assert_eq!(before, after, "{name}");
        refused += 1;
    }
    println!("hostile: registries: {refused} of {} behaviours refused, and nothing left behind", LIES.len());
}

/// An invalid new version is not staged: the lock file and the store do not change.
#[test]
fn a_bad_new_version_leaves_the_installation_unchanged() {
    let mut stage = Stage::new();
    stage.home.write("portcullis.toml", "[server]\nstate = \"state\"\n");
    let plugin = |stage: &Stage, arguments: &[&str]| suite::portcullis(&stage.home, &[&["plugin"], arguments].concat());
    plugin(&stage, &["install", &stage.reference, "--name", "echo", "--yes"]).good();
    let lock = |stage: &Stage| std::fs::read(stage.home.path().join("portcullis.lock")).unwrap();
    let (before, kept) = (lock(&stage), tree(&stage.home.path().join("state/components")));
    let other = std::fs::read(suite::paths::guest("burn")).unwrap();
    let lies: [fn(&mut Stage); 6] = [
        |stage| swap(stage, "layer"),
        |stage| swap(stage, "config"),
        |stage| resize(stage, 1),
        |stage| on(stage, "/blobs/", || Reply::new(200, "x".repeat(100)).cut()),
        |stage| on(stage, "/manifests/", html),
        |stage| on(stage, "/v2/", || Reply::new(500, "")),
    ];
    for lie in lies {
        stage.registry.lie(|_| None);
        stage.serve(&other);
        lie(&mut stage);
        let ran = plugin(&stage, &["update"]);
        assert!(!ran.stderr.contains("panicked"), "{ran:?}");
        assert_eq!(
            (lock(&stage), tree(&stage.home.path().join("state/components"))),
            (before.clone(), kept.clone()),
            "{ran:?}"
        );
    }
}

/// The password is sent only to the registry. Hosts that its answers name get no connection.
#[test]
fn only_the_configured_registry_is_contacted() {
    let sink = Web::serve(|_| Reply::new(200, "{\"token\":\"x\"}"));
    let redirect: fn(&mut Stage, String) = |stage, to| {
        stage.registry.lie(move |seen| seen.path().contains("/blobs/").then(|| Reply::redirect(&to)));
    };
    let named: fn(&mut Stage, String) = |stage, to| realm(stage, &to);
    for tell in [redirect, named] {
        let mut stage = Stage::new();
        stage.home.write("password", "canary-of-the-registry\n");
        stage.settings = "user = \"reader\"\npassword-file = \"password\"".into();
        tell(&mut stage, sink.url("/"));
        stage.check().refused();
    }
    assert_eq!(sink.seen().len(), 0);
}

fn html() -> Reply {
    Reply::new(200, "<html>").with("Content-Type", "text/html")
}

/// Sends `reply` for every path that contains `part`.
fn on(stage: &mut Stage, part: &'static str, reply: fn() -> Reply) {
    stage.registry.lie(move |seen| seen.path().contains(part).then(reply));
}

fn swap(stage: &mut Stage, what: &str) {
    let descriptor = if what == "config" { &stage.manifest["config"] } else { &stage.manifest["layers"][0] };
    let size = usize::try_from(descriptor["size"].as_u64().unwrap()).unwrap();
    stage.registry.swap(descriptor, &vec![b' '; size]);
}

fn resize(stage: &mut Stage, by: i64) {
    stage.republish(|manifest| {
        let size = manifest["layers"][0]["size"].as_i64().unwrap();
        manifest["layers"][0]["size"] = json!(size + by);
    });
}

fn redigest(stage: &mut Stage, digest: &str) {
    stage.republish(|manifest| manifest["layers"][0]["digest"] = json!(digest));
}

fn retype(stage: &mut Stage, kind: &str) {
    stage.republish(|manifest| manifest["layers"][0]["mediaType"] = json!(kind));
}

fn double(manifest: &mut Value) {
    let layer = manifest["layers"][0].clone();
    manifest["layers"] = json!([layer, layer]);
}

fn another_manifest(stage: &mut Stage) {
    let mut other = stage.manifest.clone();
    other["annotations"] = json!({"org.example.other": "one"});
    stage.reference = stage.registry.reference(&format!("acme/echo@{}", stage.digest));
    stage.registry.lie(move |seen| {
        let reply = || Reply::new(200, other.to_string()).with("Content-Type", IMAGE);
        seen.path().contains("/manifests/").then(reply)
    });
}

fn gone(stage: &mut Stage) {
    let never = suite::registry::sha256(b"what the tag meant before it was moved");
    stage.reference = stage.registry.reference(&format!("acme/echo:1.0.0@{never}"));
}

fn lying_header(stage: &mut Stage) {
    let (text, other) = (stage.manifest.to_string(), suite::registry::sha256(b"other"));
    stage.registry.lie(move |seen| {
        let reply = || Reply::new(200, text.clone()).with("Content-Type", IMAGE).with("Docker-Content-Digest", &other);
        seen.path().contains("/manifests/").then(reply)
    });
}

/// An index with one entry, which is itself an index of the good manifest.
fn list(stage: &mut Stage, called: &str) {
    let entry = |kind: &str, digest: &str, size: usize| json!({"mediaType": kind, "digest": digest, "size": size});
    let list = |entry: Value| json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]});
    let inner = list(entry(IMAGE, &stage.digest, stage.manifest.to_string().len()));
    let digest = stage.registry.publish("acme/echo", "inner", &inner);
    let outer = list(entry(called, &digest, inner.to_string().len()));
    stage.registry.publish("acme/echo", "1.0.0", &outer);
}

fn long_list(stage: &mut Stage) {
    let entry = json!({"mediaType": IMAGE, "digest": stage.digest, "size": 1});
    let list = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": vec![entry; 10_000]});
    stage.registry.publish("acme/echo", "1.0.0", &list);
}

fn foreign_config(stage: &mut Stage) {
    let other = suite::registry::sha256(b"another component");
    let config = json!({"architecture": "wasm", "layerDigests": [other]}).to_string();
    let config = stage.registry.blob("application/vnd.wasm.config.v0+json", config.as_bytes());
    stage.republish(|manifest| manifest["config"] = config);
    assert_eq!(stage.manifest["layers"][0]["mediaType"], WASM);
}

fn realm(stage: &mut Stage, realm: &str) {
    let challenge = format!("Bearer realm=\"{realm}\",service=\"x\"");
    stage.registry.lie(move |_| Some(Reply::new(401, "").with("WWW-Authenticate", &challenge)));
}

fn redirected_token(stage: &mut Stage) {
    stage.registry.demand("reader", "x");
    stage.registry.lie(|seen| (seen.path() == "/token").then(|| Reply::redirect("https://evil.example/")));
}

fn unauthorized(seen: &suite::web::Seen) -> Option<Reply> {
    let challenge = format!("Bearer realm=\"http://{}/token\"", seen.header("host").unwrap_or_default());
    let refusal = || Reply::new(401, "").with("WWW-Authenticate", &challenge);
    (seen.path() != "/token").then(refusal)
}
