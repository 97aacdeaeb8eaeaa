//! Signatures made by cosign: by key pairs, in all formats, and attestations by identities.

use super::Stage;
use serde_json::{Value, json};
use suite::cosign::{Cosign, SIGNED, SIMPLE, payload};
use suite::registry::{BUNDLE, IMAGE};
use suite::sigstore::Sigstore;

const ISSUER: &str = "https://issuer.example";
const SUBJECT: &str = "https://forge.example/acme/echo/.forge/release.yml@refs/heads/main";
const WHO: [&str; 2] = [ISSUER, SUBJECT];

/// A registry whose plugin must be signed by this key.
fn strict_stage(sigstore: &Sigstore, key: &Cosign) -> Stage {
    let mut stage = Stage::new();
    stage.home.write("root.json", sigstore.trusted_root());
    stage.home.write("cosign.pub", key.public());
    stage.settings =
        "signature = \"required\"\ntrusted-root = \"root.json\"\ncosign-keys = [\"cosign.pub\"]".to_owned();
    stage
}

/// A registry whose plugin must be signed by the one identity.
fn identity_stage(sigstore: &Sigstore) -> Stage {
    let mut stage = strict_stage(sigstore, &Cosign::default());
    let identity = format!("identities = [{{ issuer = \"{ISSUER}\", subject = \"{SUBJECT}\" }}]");
    stage.settings = stage.settings.replace("cosign-keys = [\"cosign.pub\"]", &identity);
    stage
}

fn put(stage: &Stage, bundle: &Value) {
    stage.registry.sign("acme/echo", &stage.digest, BUNDLE, &bundle.to_string());
}

/// Puts a signature in cosign's older format beside the plugin.
fn simple(stage: &Stage, text: &[u8], signature: &str) {
    let mut layer = stage.registry.blob(SIMPLE, text);
    layer["annotations"] = json!({"dev.cosignproject.cosign/signature": signature});
    let config = stage.registry.blob("application/vnd.oci.image.config.v1+json", b"{}");
    let manifest = json!({"schemaVersion": 2, "mediaType": IMAGE, "config": config, "layers": [layer]});
    stage.registry.publish("acme/echo", &format!("{}.sig", stage.digest.replace(':', "-")), &manifest);
}

fn manifest(stage: &Stage) -> Vec<u8> {
    stage.manifest.to_string().into_bytes()
}

type Tell = fn(&Sigstore, &Cosign, &Stage);

/// Signatures that are accepted.
const GOOD: &[(&str, Tell)] = &[
    ("a statement, logged", |log, key, stage| put(stage, &key.state(&manifest(stage), SIGNED, Some((log, 1))))),
    ("a statement in the log's second version", |log, key, stage| {
        put(stage, &key.state(&manifest(stage), SIGNED, Some((log, 2))))
    }),
    ("a statement about the component", |log, key, stage| {
        put(stage, &key.state(&stage.component, SIGNED, Some((log, 1))))
    }),
    ("a signature, logged", |log, key, stage| put(stage, &key.sign(&manifest(stage), Some((log, 1))))),
    ("a signature in the log's second version", |log, key, stage| {
        put(stage, &key.sign(&stage.component, Some((log, 2))))
    }),
    ("the older form", |_, key, stage| {
        let text = payload(&stage.digest).to_string();
        simple(stage, text.as_bytes(), &key.simple(text.as_bytes()));
    }),
];

#[test]
fn a_signature_by_a_trusted_key_is_accepted() {
    for (name, tell) in GOOD {
        let (sigstore, key) = (Sigstore::default(), Cosign::default());
        let stage = strict_stage(&sigstore, &key);
        tell(&sigstore, &key, &stage);
        let ran = stage.check();
        assert!(ran.good().contains(&format!("signed by {}", key.named())), "{name}: {ran:?}");
    }
}

#[test]
fn a_statement_by_a_trusted_identity_is_accepted() {
    let sigstore = Sigstore::default();
    let stage = identity_stage(&sigstore);
    put(&stage, &sigstore.state(&manifest(&stage), SIGNED, WHO, 1));
    let ran = stage.check();
    assert!(ran.good().contains(&format!("signed by sigstore:{SUBJECT} ({ISSUER})")), "{ran:?}");
}

/// A name, how the signatures are prepared, and the expected error.
const BAD: &[(&str, Tell, &str)] = &[
    ("unsigned", |_, _, _| {}, "it is not signed"),
    (
        "another key",
        |log, _, stage| put(stage, &Cosign::default().state(&manifest(stage), SIGNED, Some((log, 1)))),
        "signature verification failed",
    ),
    (
        "another key over the component",
        |log, _, stage| put(stage, &Cosign::default().sign(&stage.component, Some((log, 2)))),
        "signature verification failed",
    ),
    (
        "a statement about something else",
        |log, key, stage| put(stage, &key.state(b"other", SIGNED, Some((log, 1)))),
        "does not match any subject",
    ),
    (
        "a statement that vouches for nothing",
        |log, key, stage| {
            let kind = "https://cosign.sigstore.dev/attestation/vuln/v1";
            put(stage, &key.state(&manifest(stage), kind, Some((log, 1))));
        },
        "does not count as a signature",
    ),
    (
        "a statement whose text was changed",
        |log, key, stage| {
            let mut other = key.state(b"other", SIGNED, Some((log, 1)));
            other["dsseEnvelope"]["payload"] =
                key.state(&manifest(stage), SIGNED, None)["dsseEnvelope"]["payload"].clone();
            put(stage, &other);
        },
        "DSSE signature verification failed",
    ),
    (
        "a signature over something else",
        |_, key, stage| put(stage, &key.sign(b"other", None)),
        "none of its signatures",
    ),
    (
        "another log's entry",
        |log, key, stage| {
            put(stage, &key.state(&manifest(stage), SIGNED, Some((&log.false_signatures(), 1))));
        },
        "checkpoint",
    ),
    (
        "another log's entry in the second version",
        |log, key, stage| put(stage, &key.sign(&stage.component, Some((&log.false_signatures(), 2)))),
        "checkpoint",
    ),
    (
        "an entry about something else",
        |log, key, stage| {
            let mut made = key.sign(&stage.component, Some((log, 2)));
            made["verificationMaterial"]["tlogEntries"] =
                key.sign(b"other", Some((log, 2)))["verificationMaterial"]["tlogEntries"].clone();
            put(stage, &made);
        },
        "mismatch",
    ),
    ("in no log", |_, key, stage| put(stage, &key.sign(&stage.component, None)), "use a transparency log, or minisign"),
    (
        "a statement in no log",
        |_, key, stage| put(stage, &key.state(&manifest(stage), SIGNED, None)),
        "no proof that it was logged",
    ),
    (
        "an entry without its proof",
        |log, key, stage| {
            let mut made = key.sign(&stage.component, Some((log, 1)));
            let entry = made["verificationMaterial"]["tlogEntries"][0].as_object_mut().unwrap();
            entry.remove("inclusionProof");
            put(stage, &made);
        },
        "no proof that it was logged",
    ),
    (
        "a bundle of an older version",
        |log, key, stage| {
            let mut made = key.sign(&stage.component, Some((log, 1)));
            made["mediaType"] = json!("application/vnd.dev.sigstore.bundle+json;version=0.2");
            put(stage, &made);
        },
        "sign it with a cosign that writes version 0.3",
    ),
    (
        "an identity where a key is wanted",
        |log, _, stage| put(stage, &log.state(&manifest(stage), SIGNED, WHO, 1)),
        "[sources] names no identities",
    ),
    (
        "the older form by another key",
        |_, _, stage| {
            let text = payload(&stage.digest).to_string();
            simple(stage, text.as_bytes(), &Cosign::default().simple(text.as_bytes()));
        },
        "none of the cosign-keys",
    ),
    (
        "the older form about another artefact",
        |_, key, stage| {
            let text = payload(&suite::registry::sha256(b"other")).to_string();
            simple(stage, text.as_bytes(), &key.simple(text.as_bytes()));
        },
        "of another artifact",
    ),
    (
        "the older form with a text that was changed",
        |_, key, stage| {
            let signature = key.simple(payload(&suite::registry::sha256(b"other")).to_string().as_bytes());
            simple(stage, payload(&stage.digest).to_string().as_bytes(), &signature);
        },
        "none of the cosign-keys",
    ),
    (
        "the older form of something that is no signature",
        |_, key, stage| {
            let text = payload(&stage.digest).to_string().replace("cosign container image signature", "a note");
            simple(stage, text.as_bytes(), &key.simple(text.as_bytes()));
        },
        "not a signature of an artifact",
    ),
    ("the older form in no base64", |_, _, stage| simple(stage, b"{}", "*"), "not in base64"),
];

#[test]
fn signatures_by_other_keys_are_refused() {
    for (name, tell, words) in BAD {
        let (sigstore, key) = (Sigstore::default(), Cosign::default());
        let stage = strict_stage(&sigstore, &key);
        tell(&sigstore, &key, &stage);
        let ran = stage.check();
        assert!(ran.refused().contains(words), "{name}: {}", ran.stderr);
    }
}

/// Known but unsupported signatures are named in the error, together with an alternative.
#[test]
fn an_unsupported_signature_is_named_in_the_error() {
    for (name, tell, words) in [
        (
            "the second version of the log keeps no time, and nobody else gave one",
            (|log, _, stage| put(stage, &log.state(&manifest(stage), SIGNED, WHO, 2))) as Tell,
            "timestamp",
        ),
        (
            "a key where an identity is wanted",
            |log, key, stage| put(stage, &key.state(&manifest(stage), SIGNED, Some((log, 1)))),
            "[sources] names no cosign-keys",
        ),
        (
            "the older form where an identity is wanted",
            |_, key, stage| {
                let text = payload(&stage.digest).to_string();
                simple(stage, text.as_bytes(), &key.simple(text.as_bytes()));
            },
            "with a cosign that writes sigstore bundles",
        ),
    ] {
        let sigstore = Sigstore::default();
        let stage = identity_stage(&sigstore);
        tell(&sigstore, &Cosign::default(), &stage);
        let ran = stage.check();
        assert!(ran.refused().contains(words), "{name}: {}", ran.stderr);
    }
}

#[test]
fn an_invalid_key_is_named_in_the_error() {
    let sigstore = Sigstore::default();
    let stage = strict_stage(&sigstore, &Cosign::default());
    put(&stage, &Cosign::default().sign(&stage.component, Some((&sigstore, 1))));
    for (text, words) in [("", "cosign.pub: it is not a PEM public key"), ("RWQx", "it is not a PEM public key")] {
        stage.home.write("cosign.pub", text);
        assert!(stage.check().refused().contains(words), "{text}");
    }
    std::fs::remove_file(stage.home.path().join("cosign.pub")).unwrap();
    assert!(stage.check().refused().contains("a key of cosign-keys in [sources] cannot be used"));
}
