//! Secrets: who is told, and that nobody else is.

use super::world::{Call, SECRET, World, get, ok, request, send};
use http_body_util::{BodyExt, StreamBody};
use policy::Origin;
use runtime::imports::{HttpBody, HttpError, HttpRequest};
use std::sync::Arc;

const GRANTS: &str = r#"
    http = [{ allow = "GET,POST http://a.example", private = true }]
    secrets = [{ name = "key", hosts = ["a.example"] }, { name = "gone", hosts = ["a.example"] }]
"#;

async fn here(server: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Arc<World> {
    World::here(|_, _| vec![[127, 0, 0, 1].into()], server).await
}

fn bearer(url: &str) -> HttpRequest {
    request("GET", url, &[("authorization", "Bearer {{secret:key}}")], b"")
}

#[tokio::test]
async fn the_host_is_told_and_the_guest_is_not() {
    let world = here(|head| {
        let body = format!("you said {SECRET}, did you? {head}");
        format!("HTTP/1.1 200 OK\r\nx-echo: {SECRET}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    })
    .await;
    let call = world.call(GRANTS);
    let (_, headers, body) = send(&world.sender(), &call, bearer("http://a.example/")).await.unwrap();
    assert!(world.head().contains(&format!("authorization: Bearer {SECRET}\r\n")), "{}", world.head());
    assert!(world.head().contains("accept-encoding: identity"));
    assert!(!headers.contains(SECRET) && !body.contains(SECRET), "{headers} {body}");
    assert!(headers.contains("****") && body.contains("you said *****************, did you?"), "{headers} {body}");
    call.http.end();
    let recorded = world.recorded();
    assert!(recorded.contains(r#"Secret { name: "key", host: "a.example" }"#) && !recorded.contains(SECRET));
}

#[tokio::test]
async fn nobody_else_is_told() {
    let world = here(|_| ok("")).await;
    let sender = world.sender();
    let other = GRANTS.replace(r#"hosts = ["a.example"]"#, r#"hosts = ["b.example"]"#);
    for (grants, headers) in [
        (other.as_str(), [("x-key", "{{secret:key}}")]),
        (GRANTS, [("x-key", "{{secret:other}}")]),
        (GRANTS, [("x-key", "{{secret:}}")]),
    ] {
        let call = world.call(grants);
        let sent = send(&sender, &call, request("GET", "http://a.example/", &headers, b"")).await;
        assert_eq!(sent, Err(HttpError::Denied), "{headers:?}");
        assert!(call.http.refused().unwrap().to_string().contains("secrets = [{ name = "));
    }
    let gone = request("GET", "http://a.example/", &[("x-key", "{{secret:gone}}")], b"");
    let sent = send(&sender, &world.call(GRANTS), gone).await;
    assert!(matches!(&sent, Err(HttpError::Failed(words)) if words.contains("[secrets.gone]")), "{sent:?}");
    assert!(world.heads.lock().unwrap().is_empty());
    // In a URL or a body it is only text.
    let asked = request("POST", "http://a.example/{{secret:key}}", &[], b"{{secret:key}}");
    send(&sender, &world.call(GRANTS), asked).await.unwrap();
    assert!(!world.head().contains(SECRET));
}

#[tokio::test]
async fn not_in_the_clear() {
    let world = World::public(|_| ok("")).await;
    let call = world.call(GRANTS);
    assert_eq!(send(&world.sender(), &call, bearer("http://a.example/")).await, Err(HttpError::Denied));
    assert!(call.http.refused().unwrap().to_string().contains("would be sent unencrypted"));
    assert!(world.heads.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_could_not_be_searched_is_refused() {
    let world = here(|_| b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 0\r\n\r\n".to_vec()).await;
    let sender = world.sender();
    let sent = send(&sender, &world.call(GRANTS), bearer("http://a.example/")).await;
    assert_eq!(sent, Err(HttpError::Compressed("gzip".into())));
    let headers = [("range", "bytes=0-3"), ("x-key", "{{secret:key}}")];
    let sent = send(&sender, &world.call(GRANTS), request("GET", "http://a.example/", &headers, b"")).await;
    assert!(matches!(sent, Err(HttpError::Header(name, _)) if name == "range"));
    // Without a secret both are the guest's own business.
    assert!(get(&sender, &world.call(GRANTS), "http://a.example/").await.is_ok());
}

/// A body whose pieces come after `before` has happened.
fn late(call: &Call) -> HttpBody {
    let lineage = call.lineage.clone();
    let pieces = futures::stream::once(async move {
        lineage.confide(Origin::Client);
        Ok(platform::outbound::Frame::data(bytes::Bytes::from_static(b"what the client said")))
    });
    StreamBody::new(pieces).boxed_unsync()
}

#[tokio::test]
async fn private_results_are_not_sent_on() {
    let world = here(|_| ok("")).await;
    let sender = world.sender();
    let call = world.call(GRANTS);
    call.lineage.confide(Origin::Client);
    assert_eq!(get(&sender, &call, "http://a.example/").await, Err(HttpError::Denied));
    assert!(call.http.refused().unwrap().to_string().contains("client -> http.a.example"));
    let open = world.call(&format!("{GRANTS}\nflows = [\"client -> http.*.example\", \"client -> http.a.example\"]"));
    open.lineage.confide(Origin::Client);
    assert!(get(&sender, &open, "http://a.example/").await.is_ok());
    // Nor by a request that began before they were known.
    let call = world.call(GRANTS);
    let asked = HttpRequest { body: late(&call), ..request("POST", "http://a.example/", &[], b"") };
    assert_eq!(send(&sender, &call, asked).await, Err(HttpError::Denied));
}
