//! Paths, headers and answers that must not pass.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::*;

fn base(text: &str) -> Url {
    Url::parse(text).unwrap()
}

#[test]
fn paths_below_the_base_pass() {
    for (start, path, expected) in [
        ("https://api.example.com", "/user", "https://api.example.com/user"),
        ("https://api.example.com/", "user", "https://api.example.com/user"),
        ("https://api.example.com/", "", "https://api.example.com/"),
        ("https://api.example.com/", "/", "https://api.example.com/"),
        ("https://api.example.com/", "/repos/", "https://api.example.com/repos/"),
        ("https://api.example.com/v3", "/repos/a/b?x=1&y=/..//", "https://api.example.com/v3/repos/a/b?x=1&y=/..//"),
        ("https://api.example.com/v3/", "?q=a%20b", "https://api.example.com/v3/?q=a%20b"),
        ("https://api.example.com/v3/", "/groups/a%2Fb/..x/x..", "https://api.example.com/v3/groups/a%2Fb/..x/x.."),
        ("https://api.example.com/", "/@scope/name:1", "https://api.example.com/@scope/name:1"),
        ("https://api.example.com/", "/100%25", "https://api.example.com/100%25"),
    ] {
        assert_eq!(join(&base(start), path).map(String::from), Ok(expected.to_owned()), "{path}");
    }
}

#[test]
fn paths_outside_the_base_are_refused() {
    let base = base("https://api.example.com/v3/");
    let long = "x".repeat(MAX_PATH + 1);
    for path in [
        "..",
        "/..",
        "/../admin",
        "a/../../admin",
        "/a/./b",
        "/a/..",
        "//evil.example/x",
        "///evil.example",
        "/a//b",
        "a//",
        "\\\\evil.example\\x",
        "/\\evil.example",
        "/%2e%2e/admin",
        "/%2E%2e/admin",
        "/.%2e/admin",
        "/%252e%252e/admin",
        "/%25252e%25252e/admin",
        "/%2525252525252e/admin",
        "/%25zz%252f%252e%252e%252fadmin",
        "/%ef%bc%8e%ef%bc%8e/admin",
        "/..%2fadmin",
        "/a%2f..%2f..%2fadmin",
        "/..%5cadmin",
        "/..;/admin",
        "/..;x=y/admin",
        "/%2e%2e%3b/admin",
        "/a#b",
        "/a b",
        "/a\nb",
        "/a\tb",
        "/a%0ab",
        "/a%00",
        "/a%250d%250ab",
        "/a%",
        "/a%2",
        "/a%zz",
        "/ä",
        "/a\u{2028}b",
        &long,
    ] {
        assert!(join(&base, path).is_err(), "{path}: {:?}", join(&base, path).map(String::from));
    }
    // These look like other hosts but are names below the base address.
    for path in ["https://evil.example/", "http:evil.example"] {
        if let Ok(url) = join(&base, path) {
            assert!(url.as_str().starts_with("https://api.example.com/v3/"), "{url}");
        }
    }
    assert_eq!(join(&base, "@evil.example").unwrap().host_str(), Some("api.example.com"));
    assert_eq!(join(&base, ":8443/x").unwrap().origin(), base.origin());
}

#[test]
fn forbidden_headers_are_refused() {
    let one = |name: &str, value: &str| headers(&[(name.to_owned(), value.to_owned())]);
    for good in ["Accept", "content-type", "If-None-Match", "X-GitHub-Api-Version", "User-Agent", "Prefer"] {
        assert!(one(good, "x").is_ok(), "{good}");
    }
    for bad in [
        "Authorization",
        "authorization",
        "Proxy-Authorization",
        "X-Authorization",
        "Cookie",
        "Set-Cookie",
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "TE",
        "Trailer",
        "Upgrade",
        "Expect",
        "Range",
        "If-Range",
        "Accept-Encoding",
        "X-Api-Key",
        "PRIVATE-TOKEN",
        "X-Auth-Token",
        "Sec-Fetch-Site",
        "X-Forwarded-For",
        "X-HTTP-Method-Override",
        "Origin",
        "Referer",
        "a b",
        "a:b",
        "",
        "ä",
    ] {
        assert!(one(bad, "x").is_err(), "{bad}");
    }
    for value in ["a\r\nAuthorization: x", "a\nb", "\0"] {
        assert!(one("accept", value).is_err(), "{value:?}");
    }
    let many: Vec<_> = (0..=MAX_HEADERS).map(|at| (format!("x-{at}"), String::new())).collect();
    assert!(headers(&many).is_err());
    assert!(one("accept", &"x".repeat(MAX_HEADER_BYTES)).is_err());
}

#[test]
fn methods_and_bodies() {
    let base = base("https://api.example.com/");
    let request = |method: &str, size: usize| ConnectionRequest {
        method: method.into(),
        path: "/x".into(),
        body: vec![0; size],
        ..ConnectionRequest::default()
    };
    assert!(check(&base, request("PATCH", MAX_REQUEST)).is_ok());
    assert!(check(&base, request("POST", MAX_REQUEST + 1)).is_err());
    for method in ["get", "HEAD", "CONNECT", "TRACE", "OPTIONS", "", "GET /x HTTP/1.1\r\n"] {
        assert!(check(&base, request(method, 0)).is_err(), "{method}");
    }
}

#[test]
fn answers_with_the_credential_are_withheld() {
    let response = |header: &str, value: &str, body: &[u8]| {
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_bytes(header.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap());
        OutboundResponse { status: 200, headers, body: body.to_vec() }
    };
    let secrets = ["gho_0123456789abcdef", "refresh-0123456789"];
    let pass = |response| filter_response(response, &secrets);
    assert_eq!(pass(response("x-y", "z", b"gho_012345")).unwrap().headers, [("x-y".to_owned(), "z".to_owned())]);
    assert!(pass(response("x-y", "z", b"{\"you sent\": \"Bearer gho_0123456789abcdef\"}")).is_err());
    assert!(pass(response("x-y", "z", b"GHO_0123456789ABCDEF")).is_err());
    assert!(pass(response("x-y", "z", b"refresh-0123456789")).is_err());
    assert!(pass(response("location", "/?access=gho_0123456789abcdef", b"")).is_err());
    assert!(pass(response("x-gho_0123456789abcdef", "", b"")).is_err());
    assert!(pass(response("content-encoding", "gzip", b"x")).is_err());
    for hidden in ["set-cookie", "connection", "x-auth-token", "content-encoding"] {
        assert_eq!(pass(response(hidden, "identity", b"x")).unwrap().headers, [], "{hidden}");
    }
}
