//! Signatures by minisign keys and sigstore identities: which are accepted and which are refused.

use super::{Stage, tree};
use base64::Engine;
use serde_json::{Value, json};
use suite::minisign::Minisign;
use suite::registry::{BUNDLE, INDEX, MINISIGN};
use suite::sigstore::Sigstore;
use suite::web::Reply;
use suite::{Home, paths, portcullis};

const ISSUER: &str = "https://issuer.example";
const SUBJECT: &str = "https://forge.example/acme/echo/.forge/release.yml@refs/heads/main";

/// A registry whose plugin must be signed by key 1 or by the one identity.
fn strict_stage(sigstore: &Sigstore) -> Stage {
    let mut stage = Stage::new();
    stage.home.write("root.json", sigstore.trusted_root());
    stage.settings = format!(
        "signature = \"required\"\nkeys = [\"{}\"]\ntrusted-root = \"root.json\"\nidentities = [{{ issuer = \"{ISSUER}\", subject = \"{SUBJECT}\" }}]",
        Minisign::key(1).public()
    );
    stage
}

fn put(stage: &Stage, kind: &str, signature: &str) {
    stage.registry.sign("acme/echo", &stage.digest, kind, signature);
}

fn bundle(stage: &Stage, bundle: &Value) {
    put(stage, BUNDLE, &bundle.to_string());
}

fn entry(bundle: &mut Value) -> &mut Value {
    &mut bundle["verificationMaterial"]["tlogEntries"][0]
}

#[test]
fn a_plugin_signed_by_a_trusted_key_is_accepted() {
    let stage = strict_stage(&Sigstore::default());
    put(&stage, MINISIGN, &Minisign::key(1).sign(&stage.component, "timestamp:1"));
    assert!(stage.check().good().contains(&format!("signed by minisign:{}", Minisign::key(1).public())));
}

#[test]
fn a_trusted_identity_may_sign_the_component_or_the_manifest() {
    for manifest in [false, true] {
        let sigstore = Sigstore::default();
        let stage = strict_stage(&sigstore);
        let text = stage.manifest.to_string();
        let bytes = if manifest { text.as_bytes() } else { &stage.component };
        bundle(&stage, &sigstore.sign(bytes, ISSUER, SUBJECT));
        let ran = stage.check();
        assert!(ran.good().contains(&format!("signed by sigstore:{SUBJECT} ({ISSUER})")), "{ran:?}");
    }
}

#[test]
fn one_good_signature_among_others_is_enough() {
    let stage = strict_stage(&Sigstore::default());
    put(&stage, MINISIGN, &Minisign::key(2).sign(&stage.component, "x"));
    put(&stage, MINISIGN, &Minisign::key(1).sign(&stage.component, "x"));
    stage.check().good();
}

/// A name, how the signatures are prepared, and the expected error.
type Case = (&'static str, fn(&Sigstore, &Stage), &'static str);

const BAD: &[Case] = &[
    ("unsigned", |_, _| {}, "it is not signed"),
    (
        "referrers 500",
        |_, stage| stage.registry.lie(|seen| seen.path().contains("/referrers/").then(|| Reply::new(500, ""))),
        "answers 500",
    ),
    (
        "referrers that are HTML",
        |_, stage| stage.registry.lie(|seen| seen.path().contains("/referrers/").then(|| Reply::new(200, "<html>"))),
        "not as a manifest",
    ),
    ("poisoned fallback tag", poisoned, "it is a signature of something else"),
    ("fallback tag to nowhere", dangling, "no signature that it lists"),
    (
        "too many signatures",
        |_, stage| (0..17).for_each(|n| put(stage, MINISIGN, &format!("{n}"))),
        "more than 16 signatures",
    ),
    ("no signature at all", |_, stage| put(stage, MINISIGN, "junk"), "not a minisign signature"),
    (
        "signature for other bytes",
        |_, stage| put(stage, MINISIGN, &Minisign::key(1).sign(b"other", "x")),
        "or over other bytes",
    ),
    (
        "other key",
        |_, stage| put(stage, MINISIGN, &Minisign::key(2).sign(&stage.component, "x")),
        "no key of [sources]",
    ),
    ("comment that was changed", changed_comment, "no key of [sources]"),
    ("replayed under another name", |_, stage| comment(stage, "other", "0.1.0"), "another plugin or version"),
    ("older signed version", |_, stage| comment(stage, "echo", "0.0.9"), "another plugin or version"),
    ("same name, other requests", other_requests, "or over other bytes"),
    ("no bundle at all", |_, stage| put(stage, BUNDLE, "{}"), "not a sigstore bundle"),
    (
        "bundle for other bytes",
        |sigstore, stage| bundle(stage, &sigstore.sign(b"other", ISSUER, SUBJECT)),
        "artifact mismatch",
    ),
    (
        "other identity",
        |sigstore, stage| bundle(stage, &sigstore.sign(&stage.component, ISSUER, "https://evil.example/x")),
        "identity mismatch",
    ),
    (
        "identity with more behind",
        |sigstore, stage| bundle(stage, &sigstore.sign(&stage.component, ISSUER, &format!("{SUBJECT}-evil"))),
        "identity mismatch",
    ),
    (
        "same identity, other issuer",
        |sigstore, stage| bundle(stage, &sigstore.sign(&stage.component, "https://evil.example", SUBJECT)),
        "issuer mismatch",
    ),
    (
        "another instance's word",
        |_, stage| bundle(stage, &Sigstore::default().sign(&stage.component, ISSUER, SUBJECT)),
        "inclusion promise",
    ),
    (
        "certificate of a false authority",
        |sigstore, stage| bundle(stage, &sigstore.false_authority().sign(&stage.component, ISSUER, SUBJECT)),
        "certificate chain is invalid",
    ),
    (
        "certificate that no log promised",
        |sigstore, stage| bundle(stage, &sigstore.false_certificates().sign(&stage.component, ISSUER, SUBJECT)),
        "signed certificate timestamp",
    ),
    (
        "signature that no log holds",
        |sigstore, stage| bundle(stage, &sigstore.false_signatures().sign(&stage.component, ISSUER, SUBJECT)),
        "inclusion promise",
    ),
    ("checkpoint that nobody signed", false_checkpoint, "checkpoint"),
    (
        "certificate that had expired",
        |sigstore, stage| {
            bundle(stage, &sigstore.sign_in(&stage.component, ISSUER, SUBJECT, ["240101000000Z", "240201000000Z"]))
        },
        "certificate",
    ),
    (
        "expired certificate without proof",
        |sigstore, stage| {
            let mut made = sigstore.sign_in(&stage.component, ISSUER, SUBJECT, ["240101000000Z", "240201000000Z"]);
            made["verificationMaterial"]["tlogEntries"] = json!([]);
            bundle(stage, &made);
        },
        "no proof that it was logged",
    ),
    (
        "removed proof",
        |sigstore, stage| {
            altered(sigstore, stage, |made| drop(entry(made).as_object_mut().unwrap().remove("inclusionProof")))
        },
        "no proof that it was logged",
    ),
    (
        "proof of another entry",
        |sigstore, stage| {
            let other = entry(&mut sigstore.sign(b"other", ISSUER, SUBJECT)).clone();
            altered(sigstore, stage, |made| *entry(made) = other);
        },
        "mismatch for hashedrekord entry",
    ),
    (
        "root that nobody signed",
        |sigstore, stage| {
            altered(sigstore, stage, |made| {
                entry(made)["inclusionProof"]["rootHash"] =
                    json!(base64::engine::general_purpose::STANDARD.encode([7; 32]))
            })
        },
        "none of its signatures is good",
    ),
    (
        "signed at another time",
        |sigstore, stage| altered(sigstore, stage, |made| entry(made)["integratedTime"] = json!("1750000001")),
        "inclusion promise",
    ),
    (
        "older format",
        |sigstore, stage| {
            altered(sigstore, stage, |made| {
                made["mediaType"] = json!("application/vnd.dev.sigstore.bundle+json;version=0.1")
            })
        },
        "before 0.3",
    ),
];

#[test]
fn untrusted_or_invalid_signatures_are_refused() {
    let mut refused = 0;
    for (name, tell, words) in BAD {
        let sigstore = Sigstore::default();
        let stage = strict_stage(&sigstore);
        tell(&sigstore, &stage);
        stage.home.write("portcullis.toml", "");
        let files =
            || tree(stage.home.path()).into_iter().filter(|(path, _)| !path.ends_with(".toml")).collect::<Vec<_>>();
        let before = files();
        let ran = stage.check();
        assert!(ran.refused().contains(words), "{name}: {}", ran.stderr);
        assert_eq!(before, files(), "{name}");
        refused += 1;
    }
    println!("hostile: signatures: {refused} of {} refused, and nothing left behind", BAD.len());
}

#[test]
fn an_optional_signature_must_be_valid_when_present() {
    let sigstore = Sigstore::default();
    for (policy, signed, good) in [
        (format!("keys = [\"{}\"]", Minisign::key(1).public()), false, true),
        (format!("keys = [\"{}\"]", Minisign::key(1).public()), true, false),
        ("signature = \"off\"".to_owned(), true, true),
        (String::new(), true, true),
    ] {
        let mut stage = strict_stage(&sigstore);
        stage.settings = policy;
        if signed {
            put(&stage, MINISIGN, &Minisign::key(2).sign(&stage.component, "x"));
        }
        let ran = stage.check();
        assert_eq!(ran.status == Some(0), good, "{}: {ran:?}", stage.settings);
    }
    let mut stage = strict_stage(&sigstore);
    stage.settings = format!("keys = [\"{}\"]", Minisign::key(1).public());
    stage.registry.lie(|seen| seen.path().contains("/referrers/").then(|| Reply::new(503, "")));
    assert!(stage.check().refused().contains("answers 503"), "that it cannot be told is no answer");
}

#[test]
fn a_file_is_verified_by_the_signature_beside_it() {
    let home = Home::new();
    let component = std::fs::read(paths::guest("echo")).unwrap();
    std::fs::write(home.path().join("echo.wasm"), &component).unwrap();
    let table = format!("[sources.\"*\"]\nsignature = \"required\"\nkeys = [\"{}\"]\n", Minisign::key(1).public());
    home.write("portcullis.toml", &table);
    let check = || portcullis(&home, &["check", "file:echo.wasm"]);
    assert!(check().refused().contains("it is not signed"));
    home.write("echo.wasm.minisig", Minisign::key(2).sign(&component, "x"));
    assert!(check().refused().contains("no key of [sources]"));
    home.write("echo.wasm.minisig", Minisign::key(1).sign(&component, "x"));
    assert!(check().good().contains("signed by minisign:"));
    std::fs::remove_file(home.path().join("echo.wasm.minisig")).unwrap();
    std::fs::create_dir(home.path().join("echo.wasm.minisig")).unwrap();
    assert!(check().refused().contains("cannot be read"));
}

fn altered(sigstore: &Sigstore, stage: &Stage, change: impl FnOnce(&mut Value)) {
    let mut made = sigstore.sign(&stage.component, ISSUER, SUBJECT);
    change(&mut made);
    bundle(stage, &made);
}

fn comment(stage: &Stage, name: &str, version: &str) {
    let digest = suite::registry::sha256(&stage.component);
    let comment = format!("portcullis name={name} version={version} digest={digest}");
    put(stage, MINISIGN, &Minisign::key(1).sign(&stage.component, &comment));
}

fn changed_comment(_: &Sigstore, stage: &Stage) {
    let signature = Minisign::key(1).sign(&stage.component, "for the plugin echo");
    put(stage, MINISIGN, &signature.replace("for the plugin echo", "for the plugin evil"));
}

/// The signed manifest requests less than the served one.
fn other_requests(_: &Sigstore, stage: &Stage) {
    let narrow = std::fs::read(paths::guest("burn")).unwrap();
    put(stage, MINISIGN, &Minisign::key(1).sign(&narrow, "x"));
}

/// Without the referrers API, the fallback tag lists a signature of another artifact.
fn poisoned(_: &Sigstore, stage: &Stage) {
    let good = Minisign::key(1).sign(&stage.component, "x");
    let other = stage.registry.sign("acme/echo", &suite::registry::sha256(b"other"), MINISIGN, &good);
    let size = stage.registry.kept("acme/echo", &other).unwrap().to_string().len();
    fallback(stage, &other, size);
}

fn dangling(_: &Sigstore, stage: &Stage) {
    fallback(stage, &suite::registry::sha256(b"nothing"), 10);
}

fn fallback(stage: &Stage, digest: &str, size: usize) {
    stage.registry.forget_referrers();
    let entry = json!({"mediaType": suite::registry::IMAGE, "digest": digest, "size": size, "artifactType": MINISIGN});
    let list = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]});
    stage.registry.publish("acme/echo", &stage.digest.replace(':', "-"), &list);
}

/// A checkpoint of the right tree, signed by another log.
fn false_checkpoint(sigstore: &Sigstore, stage: &Stage) {
    let mut other = sigstore.false_signatures().sign(&stage.component, ISSUER, SUBJECT);
    let theirs = entry(&mut other)["inclusionProof"]["checkpoint"]["envelope"].clone();
    altered(sigstore, stage, |made| {
        let envelope = &mut entry(made)["inclusionProof"]["checkpoint"]["envelope"];
        let (note, signature) = (envelope.as_str().unwrap(), theirs.as_str().unwrap());
        let (note, signature) = (note.split_once("\n\n").unwrap().0, signature.split_once("\n\n").unwrap().1);
        *envelope = json!(format!("{note}\n\n{signature}"));
    });
}

#[test]
fn an_address_is_verified_by_the_signature_beside_it() {
    let component = std::fs::read(paths::guest("echo")).unwrap();
    let good = Minisign::key(1).sign(&component, "x");
    for (status, signature, words) in [
        (200, good.clone(), None),
        (200, Minisign::key(2).sign(&component, "x"), Some("no key of [sources]")),
        (404, String::new(), Some("it is not signed")),
        (500, String::new(), Some("cannot be fetched: the server answers 500")),
    ] {
        let served = component.clone();
        let web = suite::web::Web::serve(move |seen| match seen.path() {
            "/echo.wasm" => Reply::new(200, served.clone()),
            "/echo.wasm.minisig" => Reply::new(status, signature.clone()),
            _ => Reply::new(404, ""),
        });
        let home = Home::new();
        let (at, key) = (web.address, Minisign::key(1).public());
        home.write("portcullis.toml", format!("[sources.\"{at}\"]\nsignature = \"required\"\nkeys = [\"{key}\"]\n"));
        let ran = portcullis(&home, &["check", &web.url("/echo.wasm")]);
        match words {
            None => assert!(ran.good().contains("signed by minisign:"), "{ran:?}"),
            Some(words) => assert!(ran.refused().contains(words), "{ran:?}"),
        }
    }
}

/// The trusted comment that `plugin pack` suggests is accepted; the same comment with another version is refused.
#[test]
fn a_trusted_comment_must_name_the_same_version() {
    let home = Home::new();
    let guest = paths::guest("relay");
    let component = std::fs::read(&guest).unwrap();
    std::fs::write(home.path().join("relay.wasm"), &component).unwrap();
    let packed = portcullis(&home, &["plugin", "pack", "relay.wasm"]);
    let comment = packed.good().split_once("-t '").unwrap().1.split('\'').next().unwrap().to_owned();
    let digest = suite::registry::sha256(&component);
    assert!(comment.starts_with("portcullis name=") && comment.ends_with(&digest), "{comment}");
    home.write(
        "portcullis.toml",
        format!("[sources.\"*\"]\nsignature = \"required\"\nkeys = [\"{}\"]\n", Minisign::key(1).public()),
    );
    let older = comment.replace("version=", "version=0.");
    for (comment, good) in [(&comment, true), (&older, false)] {
        home.write("relay.wasm.minisig", Minisign::key(1).sign(&component, comment));
        let ran = portcullis(&home, &["check", "file:relay.wasm"]);
        match good {
            true => assert!(ran.good().contains("signed by minisign:"), "{ran:?}"),
            false => assert!(ran.refused().contains("another plugin or version"), "{ran:?}"),
        }
    }
}
