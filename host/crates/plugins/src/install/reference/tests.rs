//! Accepted and refused references.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::*;

const HEX: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn oci(text: &str) -> OciName {
    match Reference::parse(text).unwrap() {
        Reference::Oci(name) => name,
        other => panic!("{other:?}"),
    }
}

#[test]
fn paths_are_files() {
    for (text, path) in [
        ("files.wasm", "files.wasm"),
        ("./files", "./files"),
        ("../x/files.wasm", "../x/files.wasm"),
        ("/opt/files.wasm", "/opt/files.wasm"),
        ("sub/files", "sub/files"),
        ("file:files", "files"),
        ("file:/opt/f.wasm", "/opt/f.wasm"),
        ("file:///opt/f.wasm", "/opt/f.wasm"),
        ("a b.wasm", "a b.wasm"),
    ] {
        assert_eq!(Reference::parse(text).unwrap(), Reference::File(path.into()), "{text}");
    }
}

#[test]
fn urls_may_contain_a_digest() {
    let text = format!("https://example.com/a/files.wasm#{HEX}");
    let Reference::Web { url, digest } = Reference::parse(&text).unwrap() else { panic!("{text}") };
    assert_eq!((url.as_str(), digest.unwrap().as_str()), ("https://example.com/a/files.wasm", HEX));
    for text in [
        "https://example.com/f.wasm",
        "http://127.0.0.1:8080/f.wasm",
        "http://localhost/f.wasm",
        "http://[::1]:9/f.wasm",
    ] {
        assert_eq!(Reference::parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn oci_names_have_a_registry_and_a_repository() {
    let name = oci("oci://registry.example.com/acme/files:1.2.0");
    assert_eq!((name.registry.as_str(), name.repository.as_str()), ("registry.example.com", "acme/files"));
    assert_eq!((name.tag.as_deref(), &name.digest), (Some("1.2.0"), &None));
    let name = oci(&format!("oci://localhost:5000/files@{HEX}"));
    assert_eq!((name.registry.as_str(), name.tag.as_ref()), ("localhost:5000", None));
    assert_eq!(name.digest.unwrap().as_str(), HEX);
    let name = oci(&format!("oci://[::1]:5000/a/b/c-d__e.f:v1@{HEX}"));
    assert_eq!((name.registry.as_str(), name.repository.as_str()), ("[::1]:5000", "a/b/c-d__e.f"));
    assert_eq!(oci("oci://10.0.0.1/files").tag, None);
}

#[test]
fn references_are_printed_as_they_are_parsed() {
    for text in [
        "oci://registry.example.com/acme/files:1.2.0".to_owned(),
        format!("oci://registry.example.com:8443/acme/files:1.2.0@{HEX}"),
        format!("oci://localhost:5000/files@{HEX}"),
        format!("https://example.com/files.wasm#{HEX}"),
        "file:/opt/files.wasm".to_owned(),
    ] {
        assert_eq!(Reference::parse(&text).unwrap().to_string(), text);
    }
}

#[test]
fn locations_have_neither_tag_nor_digest() {
    let location = |text: &str| Reference::parse(text).unwrap().location();
    assert_eq!(location(&format!("oci://r.example.com:5000/acme/files:1@{HEX}")), "r.example.com:5000/acme/files");
    assert_eq!(location("https://example.com:8443/a/f.wasm"), "example.com:8443/a/f.wasm");
    assert_eq!(location("file:/opt/f.wasm"), "/opt/f.wasm");
}

#[test]
fn other_references_are_refused() {
    let long = format!("oci://r.example.com/{}", "a".repeat(256));
    let tag = format!("oci://r.example.com/a:{}", "t".repeat(129));
    for (text, words) in [
        ("", "1 to 2048 bytes"),
        ("a\u{7}.wasm", "control characters"),
        ("files", "write a path"),
        ("docker://r.example.com/a", "the scheme `docker` is not supported"),
        ("ftp://example.com/a.wasm", "the scheme `ftp` is not supported"),
        ("http://example.com/a.wasm", "write https://"),
        ("http://127.0.0.1.example.com/a.wasm", "write https://"),
        ("http://10.0.0.1/a.wasm", "write https://"),
        ("https://example.com/a.tar", "end in .wasm"),
        ("https://example.com/", "end in .wasm"),
        ("https://example.com/.wasm", "end in .wasm"),
        ("https://u:p@example.com/a.wasm", "[sources]"),
        ("https://example.com/a.wasm?token=1", "[sources]"),
        ("https://example.com/a.wasm#main", "is not a digest"),
        ("https://example.com/a.wasm#sha1:00", "is not a digest"),
        ("https://", "reference"),
        ("file:", "is missing"),
        ("file://host/a.wasm", "with a host"),
        ("oci://", "the repository is missing"),
        ("oci://r.example.com", "the repository is missing"),
        ("oci://r.example.com/", "the repository is"),
        ("oci://registry/acme/files", "is not a registry"),
        ("oci://R.example.com/a", "is not a registry"),
        ("oci://r.example.com./a", "is not a registry"),
        ("oci://me@r.example.com/a:1", "is not a digest"),
        ("oci://0x7f.1/a", "is not a registry"),
        ("oci://2130706433/a", "is not a registry"),
        ("oci://r.example.com:99999/a", "is not a registry"),
        ("oci://r.example.com/A", "the repository is"),
        ("oci://r.example.com/a//b", "the repository is"),
        ("oci://r.example.com/../b", "the repository is"),
        ("oci://r.example.com/a/../b", "the repository is"),
        ("oci://r.example.com/a..b", "the repository is"),
        ("oci://r.example.com/-a", "the repository is"),
        ("oci://r.example.com/a?x", "the repository is"),
        ("oci://r.example.com/a%2fb", "the repository is"),
        (long.as_str(), "the repository is"),
        ("oci://r.example.com/a:", "the tag is"),
        ("oci://r.example.com/a:.x", "the tag is"),
        ("oci://r.example.com/a:x/y", "the tag is"),
        ("oci://r.example.com/a:x:y", "the tag is"),
        (tag.as_str(), "the tag is"),
        ("oci://r.example.com/a@sha256:00", "is not a digest"),
        ("oci://r.example.com/a@sha512:00", "is not a digest"),
        ("oci://r.example.com/a@sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709", "is not a digest"),
    ] {
        let error = Reference::parse(text).unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn another_version_is_at_the_same_source() {
    let to = |text: &str, installed: Option<&str>| {
        Reference::parse(text).unwrap().with_version(installed, "1.3.0").map(|other| other.to_string())
    };
    let digest = "sha256:".to_owned() + &"a".repeat(64);
    let pinned = format!("oci://r.example/acme/x:1.2.0@{digest}");
    assert_eq!(to(&pinned, None).unwrap(), "oci://r.example/acme/x:1.3.0");
    let web = format!("https://a.example/v1.2.0/x-1.2.0.wasm#{digest}");
    assert_eq!(to(&web, Some("1.2.0")).unwrap(), "https://a.example/v1.3.0/x-1.3.0.wasm");
    assert!(to("https://a.example/x.wasm", Some("1.2.0")).unwrap_err().contains("has no version to replace"));
    assert!(to("./x.wasm", Some("1.2.0")).unwrap_err().contains("has one version"));
    let sources = ["oci://r.example/acme/x:1.2.0", "oci://r.example/acme/x", &pinned]
        .map(|text| Reference::parse(text).unwrap().source());
    assert!(sources.iter().all(|source| source == "oci://r.example/acme/x"), "{sources:?}");
}
