//! Secrets reach only the hosts they are granted for.

use super::fake_network::{Call, FakeNetwork, SECRET, get, ok, request, send};
use http_body_util::{BodyExt, StreamBody};
use policy::Origin;
use runtime::imports::{Egress, HttpBody, HttpError, HttpRequest};
use std::sync::Arc;

const GRANTS: &str = r#"
    http = [{ allow = "GET,POST http://a.example", private = true }]
    secrets = [{ name = "key", hosts = ["a.example"] }, { name = "gone", hosts = ["a.example"] }]
"#;

async fn here(server: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Arc<FakeNetwork> {
    FakeNetwork::here(|_, _| vec![[127, 0, 0, 1].into()], server).await
}

fn bearer(url: &str) -> HttpRequest {
    request("GET", url, &[("authorization", "Bearer {{secret:key}}")], b"")
}

#[tokio::test]
async fn a_secret_reaches_the_host_and_is_masked_for_the_guest() {
    let network = here(|head| {
        let body = format!("you said {SECRET}, did you? {head}");
        format!("HTTP/1.1 200 OK\r\nx-echo: {SECRET}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    })
    .await;
    let call = network.call(GRANTS);
    let (_, headers, body) = send(&network.sender(), &call, bearer("http://a.example/")).await.unwrap();
    assert!(network.head().contains(&format!("authorization: Bearer {SECRET}\r\n")), "{}", network.head());
    assert!(network.head().contains("accept-encoding: identity"));
    assert!(!headers.contains(SECRET) && !body.contains(SECRET), "{headers} {body}");
    assert!(headers.contains("****") && body.contains("you said *****************, did you?"), "{headers} {body}");
    call.http.end();
    let recorded = network.recorded();
    assert!(recorded.contains(r#"SecretUsed { name: "key", host: "a.example" }"#) && !recorded.contains(SECRET));
}

/// The server keeps what it got, and tells it when it is asked without the secret.
#[tokio::test]
async fn a_secret_is_masked_whichever_request_has_sent_it() {
    let network = here(|_| ok(&format!("you once said {SECRET}"))).await;
    let (sender, first) = (network.sender(), network.call(GRANTS));
    send(&sender, &first, bearer("http://a.example/")).await.unwrap();
    for call in [&first, &network.call(GRANTS)] {
        let (_, _, body) = get(&sender, call, "http://a.example/").await.unwrap();
        assert_eq!(body, format!("you once said {}", "*".repeat(SECRET.len())));
    }
}

#[tokio::test]
async fn a_secret_goes_to_no_other_host() {
    let network = here(|_| ok("")).await;
    let sender = network.sender();
    let other = GRANTS.replace(r#"hosts = ["a.example"]"#, r#"hosts = ["b.example"]"#);
    for (grants, headers) in [
        (other.as_str(), [("x-key", "{{secret:key}}")]),
        (GRANTS, [("x-key", "{{secret:other}}")]),
        (GRANTS, [("x-key", "{{secret:}}")]),
    ] {
        let call = network.call(grants);
        let sent = send(&sender, &call, request("GET", "http://a.example/", &headers, b"")).await;
        assert_eq!(sent, Err(HttpError::Denied), "{headers:?}");
        assert!(call.http.last_denial().unwrap().for_operator().starts_with("denied: secrets `"));
    }
    let gone = request("GET", "http://a.example/", &[("x-key", "{{secret:gone}}")], b"");
    let sent = send(&sender, &network.call(GRANTS), gone).await;
    assert!(
        matches!(&sent, Err(HttpError::Failed(words)) if words.contains("the secret `gone` is not set. Ask the user")),
        "{sent:?}"
    );
    assert!(network.heads.lock().is_empty());
    // In a URL or a body it is only text.
    let http_request = request("POST", "http://a.example/{{secret:key}}", &[], b"{{secret:key}}");
    send(&sender, &network.call(GRANTS), http_request).await.unwrap();
    assert!(!network.head().contains(SECRET));
}

#[tokio::test]
async fn a_secret_is_not_sent_unencrypted() {
    let network = FakeNetwork::public(|_| ok("")).await;
    let call = network.call(GRANTS);
    assert_eq!(send(&network.sender(), &call, bearer("http://a.example/")).await, Err(HttpError::Denied));
    assert!(call.http.last_denial().unwrap().to_string().contains("would be sent unencrypted"));
    assert!(network.heads.lock().is_empty());
}

#[tokio::test]
async fn unsearchable_answers_are_refused() {
    let network = here(|_| b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 0\r\n\r\n".to_vec()).await;
    let sender = network.sender();
    let sent = send(&sender, &network.call(GRANTS), bearer("http://a.example/")).await;
    assert_eq!(sent, Err(HttpError::Compressed("gzip".into())));
    let odd = here(|_| format!("HTTP/1.1 200 OK\r\ncontent-encoding: {SECRET}\r\n\r\n").into_bytes()).await;
    let sent = send(&odd.sender(), &odd.call(GRANTS), bearer("http://a.example/")).await;
    assert_eq!(sent, Err(HttpError::Compressed("*".repeat(SECRET.len()))), "errors name it");
    let headers = [("range", "bytes=0-3"), ("x-key", "{{secret:key}}")];
    let sent = send(&sender, &network.call(GRANTS), request("GET", "http://a.example/", &headers, b"")).await;
    assert!(matches!(sent, Err(HttpError::Header(name, _)) if name == "range"));
    // Where no secret is sent, the guest may use both compression and ranges.
    let without = network.call(r#"http = [{ allow = "GET http://a.example", private = true }]"#);
    assert!(get(&sender, &without, "http://a.example/").await.is_ok());
}

/// A body whose pieces come after `before` has happened.
fn late(call: &Call) -> HttpBody {
    let lineage = call.lineage.clone();
    let pieces = futures::stream::once(async move {
        lineage.mark_private(Origin::Client);
        Ok(platform::outbound::Frame::data(bytes::Bytes::from_static(b"what the client said")))
    });
    StreamBody::new(pieces).boxed_unsync()
}

#[tokio::test]
async fn private_results_are_not_sent_on() {
    let network = here(|_| ok("")).await;
    let sender = network.sender();
    let call = network.call(GRANTS);
    call.lineage.mark_private(Origin::Client);
    assert_eq!(get(&sender, &call, "http://a.example/").await, Err(HttpError::Denied));
    assert!(call.http.last_denial().unwrap().to_string().contains("client -> http.a.example"));
    let open = network.call(&format!("{GRANTS}\nflows = [\"client -> http.*.example\", \"client -> http.a.example\"]"));
    open.lineage.mark_private(Origin::Client);
    assert!(get(&sender, &open, "http://a.example/").await.is_ok());
    // Nor by a request that began before they were known.
    let call = network.call(GRANTS);
    let http_request = HttpRequest { body: late(&call), ..request("POST", "http://a.example/", &[], b"") };
    assert_eq!(send(&sender, &call, http_request).await, Err(HttpError::Denied));
}

/// The server would notice whether the call reads on, and when it closes the connection.
#[tokio::test]
async fn open_connections_are_closed_when_something_private_is_seen() {
    let network = here(|_| b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nxHOLD".to_vec()).await;
    let call = network.call(r#"http = [{ allow = "GET http://a.example", private = true, timeout = "5s" }]"#);
    let request = request("GET", "http://a.example/", &[], b"");
    let mut answer = network.sender().send(request, call.http.clone()).await.unwrap();
    assert_eq!(answer.body_mut().frame().await.unwrap().unwrap().into_data().unwrap(), "x");
    call.lineage.mark_private(Origin::Client);
    assert!(answer.body_mut().frame().await.unwrap().is_err());
    assert!(call.http.last_denial().unwrap().to_string().contains("client -> http.a.example"));
}
