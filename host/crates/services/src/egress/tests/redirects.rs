//! Redirects: each hop is a request of its own.

use super::fake_network::{FakeNetwork, SECRET, get, ok, public, redirect, request, send};
use runtime::imports::HttpError;
use std::sync::Arc;

const FOLLOWED: &str = r#"http = [{ allow = "GET,POST http://*", redirects = 3 }]"#;

#[tokio::test]
async fn redirects_are_returned_unless_granted() {
    let network = FakeNetwork::public(|_| redirect(302, "/b")).await;
    let call = network.call(r#"http = [{ allow = "http://*" }]"#);
    let (status, headers, _) = get(&network.sender(), &call, "http://a.example/").await.unwrap();
    assert!(status == 302 && headers.contains("/b"), "{headers}");
}

#[tokio::test]
async fn at_most_three_are_followed() {
    let network = FakeNetwork::public(|head| {
        let at: u32 = head.split("/r").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
        if at == 0 { ok("there") } else { redirect(302, &format!("/r{}", at - 1)) }
    })
    .await;
    let sender = network.sender();
    assert_eq!(get(&sender, &network.call(FOLLOWED), "http://a.example/r3").await.unwrap().2, "there");
    assert_eq!(get(&sender, &network.call(FOLLOWED), "http://a.example/r4").await.unwrap().0, 302);
    let ten = FOLLOWED.replace('3', "10");
    assert_eq!(get(&sender, &network.call(&ten), "http://a.example/r4").await.unwrap().0, 302);
    assert_eq!(network.recorded().matches("Request").count(), 12);
}

#[tokio::test]
async fn each_hop_needs_its_grant_and_its_address() {
    let names = |name: &str, _: usize| match name {
        "inside.example" => vec![[10, 0, 0, 7].into()],
        _ => vec![public()],
    };
    let to = |location: &'static str| FakeNetwork::new(names, move |_| redirect(307, location));
    for location in [
        "http://169.254.169.254/latest/meta-data/",
        "//169.254.169.254/latest",
        "http://inside.example/",
        "http://[::ffff:127.0.0.1]/",
        "http://2130706433/",
        "http://user@b.example/",
        "http://b.example:8080/",
        "http://localhost./",
    ] {
        let network = to(location).await;
        let answer = get(&network.sender(), &network.call(FOLLOWED), "http://a.example/").await;
        assert!(matches!(answer, Err(HttpError::Denied | HttpError::Request(_))), "{location}: {answer:?}");
        assert_eq!((network.sink_connections(), network.reached.lock().len()), (0, 1), "{location}");
    }
    // Redirects between http and https are not followed: the guest gets the response and may send a request itself.
    let network = to("https://a.example/").await;
    assert_eq!(get(&network.sender(), &network.call(FOLLOWED), "http://a.example/").await.unwrap().0, 307);
}

#[tokio::test]
async fn credentials_stay_with_their_origin() {
    let network = FakeNetwork::public(|head| match head.split(' ').nth(1) {
        Some("/same") => redirect(302, "/end"),
        Some("/other") => redirect(302, "http://b.example/back"),
        Some("/back") => redirect(302, "http://a.example/end"),
        _ => ok("end"),
    })
    .await;
    let sender = network.sender();
    let headers = [("authorization", "Basic abc"), ("cookie", "c=1"), ("x-plain", "here")];
    for (path, kept) in [("same", true), ("other", false)] {
        let url = format!("http://a.example/{path}");
        send(&sender, &network.call(FOLLOWED), request("GET", &url, &headers, b"")).await.unwrap();
        let head = network.head();
        assert_eq!((head.contains("Basic abc"), head.contains("c=1")), (kept, kept), "{head}");
        assert!(head.contains("here") && head.starts_with("GET /end"), "{head}");
    }
    assert!(network.heads.lock().iter().filter(|head| head.contains("/back")).all(|head| !head.contains("abc")));
}

#[tokio::test]
async fn a_body_is_not_sent_twice() {
    let network =
        FakeNetwork::public(|head| if head.contains("/end") { ok("end") } else { redirect(307, "/end") }).await;
    let sender = network.sender();
    let http_request = request("POST", "http://a.example/", &[], b"body");
    assert_eq!(send(&sender, &network.call(FOLLOWED), http_request).await.unwrap().0, 307);
    let http_request = request("POST", "http://a.example/", &[], b"");
    assert_eq!(send(&sender, &network.call(FOLLOWED), http_request).await.unwrap().0, 200);
    assert!(network.head().starts_with("POST /end"));
}

#[tokio::test]
async fn a_redirect_does_not_carry_a_secret() {
    let names = |_: &str, _: usize| vec![[127, 0, 0, 1].into()];
    let grants = r#"
        http = [{ allow = "http://a.example", private = true, redirects = 1 }, { allow = "http://b.example", private = true }]
        secrets = [{ name = "key", hosts = ["a.example", "b.example"] }]
    "#;
    let network = FakeNetwork::here(names, |head| match head.contains("a.example") {
        true => redirect(302, "http://b.example/"),
        false => ok("end"),
    })
    .await;
    let http_request = request("GET", "http://a.example/", &[("x-key", "{{secret:key}}")], b"");
    assert_eq!(send(&network.sender(), &network.call(grants), http_request).await.unwrap().2, "end");
    let heads = network.heads.lock();
    assert!(heads[0].contains(SECRET) && !heads[1].contains("x-key") && !heads[1].contains("secret"), "{heads:?}");
}

/// Two servers of this machine, and a secret for one of them.
const TWO_HOSTS: &str = r#"
    http = [
        { allow = "http://a.example", private = true, redirects = 2 },
        { allow = "http://b.example", private = true },
    ]
    secrets = [{ name = "key", hosts = ["a.example"] }]
"#;

async fn here(server: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Arc<FakeNetwork> {
    FakeNetwork::here(|_, _| vec![[127, 0, 0, 1].into()], server).await
}

#[tokio::test]
async fn a_secret_is_masked_after_redirects_too() {
    let network = here(|head| {
        let length = SECRET.len();
        match head.split(' ').nth(1) {
            Some("/other") => redirect(302, "http://b.example/"),
            Some("/same") => redirect(302, "/"),
            // It has the secret from the first server.
            _ => {
                format!("HTTP/1.1 200 OK\r\nx-echo: {SECRET}\r\ncontent-length: {length}\r\n\r\n{SECRET}").into_bytes()
            }
        }
    })
    .await;
    // A header about the body is not repeated where the body is not.
    for (method, url, header) in
        [("GET", "http://a.example/other", "x-key"), ("POST", "http://a.example/same", "content-key")]
    {
        let call = network.call(&TWO_HOSTS.replace("allow = \"", "allow = \"GET,POST "));
        let sent = send(&network.sender(), &call, request(method, url, &[(header, "{{secret:key}}")], b"")).await;
        let (status, headers, body) = sent.unwrap();
        assert!(status == 200 && !network.head().contains(SECRET), "{}", network.head());
        assert!(!headers.contains(SECRET) && body == "*".repeat(SECRET.len()), "{url}: {headers} {body}");
        assert!(network.head().contains("accept-encoding: identity"), "no secret is found in a compressed answer");
    }
}

#[tokio::test]
async fn a_redirect_to_a_url_with_a_secret_is_not_followed() {
    for location in ["http://b.example/", "/", "http://nowhere.example/"] {
        let network = here(move |head| match head.starts_with("GET /start ") {
            true => redirect(302, &format!("{location}{SECRET}?k={SECRET}")),
            false => ok("it came here"),
        })
        .await;
        let call = network.call(TWO_HOSTS);
        let http_request = request("GET", "http://a.example/start", &[("x-key", "{{secret:key}}")], b"");
        let (status, headers, body) = send(&network.sender(), &call, http_request).await.unwrap();
        assert!(status == 302 && !(headers + &body).contains(SECRET), "{location}");
        call.http.end();
        assert_eq!(network.heads.lock().len(), 1, "{location}");
        let denied = call.http.last_denial().map(|denial| denial.to_string()).unwrap_or_default();
        assert!(!(network.recorded() + &denied).contains(SECRET), "{location}");
    }
}
