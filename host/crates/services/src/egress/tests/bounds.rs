//! What a request and its answer may take.

use super::world::{World, get, ok, public, request, send, v6};
use http_body_util::BodyExt;
use policy::HttpUrlError;
use runtime::imports::{HttpError, Patience};
use std::time::Duration;

const ANY: &str = r#"http = [{ allow = "GET,POST http://*", body = "1 KiB", timeout = "300ms" }]"#;

#[tokio::test]
async fn what_is_granted_is_sent_as_it_was_read() {
    let world = World::public(|_| ok("hello")).await;
    let (sender, call) = (world.sender(), world.call(ANY));
    let headers = [("accept", "text/plain"), ("te", "trailers"), ("expect", "100-continue"), ("proxy-x", "1")];
    let asked = request("GET", "http://API.Example.com:80/a/../b?q=1#f", &headers, b"");
    assert_eq!(send(&sender, &call, asked).await.unwrap().2, "hello");
    let head = world.head().to_ascii_lowercase();
    assert!(head.starts_with("get /b?q=1 http/1.1\r\n"), "{head}");
    assert!(head.contains("host: api.example.com\r\n") && head.contains("accept: text/plain"), "{head}");
    assert!(head.contains("connection: close") && head.contains("user-agent: portcullis/"), "{head}");
    for ours in ["te:", "expect:", "proxy-x:"] {
        assert!(!head.contains(ours), "{head}");
    }
    call.http.end();
    let recorded = world.recorded();
    for part in ["GET http://api.example.com/b\"", "93.184.216.34:80", "status: Some(200)", "bytes: 5"] {
        assert!(recorded.contains(part), "{part}: {recorded}");
    }
}

#[tokio::test]
async fn nothing_is_sent_without_a_grant() {
    let world = World::public(|_| ok("")).await;
    let sender = world.sender();
    for (grants, url) in [
        ("", "http://a.example/"),
        (r#"http = [{ allow = "http://b.example" }]"#, "http://a.example/"),
        (r#"http = [{ allow = "POST http://a.example" }]"#, "http://a.example/"),
        (r#"http = [{ allow = "https://a.example" }]"#, "http://a.example/"),
        (r#"http = [{ allow = "http://a.example/v1/" }]"#, "http://a.example/v1/%2e%2e/v2"),
        (r#"http = [{ allow = "http://*" }]"#, "http://93.184.216.34/"),
    ] {
        let call = world.call(grants);
        assert_eq!(get(&sender, &call, url).await, Err(HttpError::Denied), "{grants} {url}");
        let denial = call.http.refused().unwrap().to_string();
        assert!(denial.contains("denied: http `GET http://"), "{denial}");
    }
    assert!(world.reached.lock().unwrap().is_empty());
    assert_eq!(world.recorded().matches("Denial").count(), 6);
    let call = world.call(ANY);
    assert_eq!(
        send(&sender, &call, request("TRACE", "http://a.example/", &[], b"")).await,
        Err(HttpError::Request(HttpUrlError::Method))
    );
}

#[tokio::test]
async fn bodies_end_at_their_caps() {
    let long = "x".repeat(1025);
    let answer = long.clone();
    let world = World::public(move |head| match head.contains("/chunked") {
        true => {
            format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n401\r\n{answer}\r\n0\r\n\r\n").into_bytes()
        }
        false => ok(&answer[..if head.contains("/long") { 1025 } else { 1024 }]),
    })
    .await;
    let (sender, call) = (world.sender(), world.call(ANY));
    assert_eq!(get(&sender, &call, "http://a.example/").await.unwrap().2.len(), 1024);
    for path in ["long", "chunked"] {
        let answer = get(&sender, &call, &format!("http://a.example/{path}")).await;
        assert_eq!(answer, Err(HttpError::AnswerTooLarge(1024)));
    }
    let sent = world.heads.lock().unwrap().len();
    let asked = request("POST", "http://a.example/", &[], long.as_bytes());
    assert_eq!(send(&sender, &call, asked).await, Err(HttpError::RequestTooLarge(1024)));
    assert_eq!(world.heads.lock().unwrap().len(), sent);
    // A body that does not say how long it is.
    let pieces = futures::stream::iter((0..20).map(|_| Ok(hyper_frame(100))));
    let body = http_body_util::StreamBody::new(pieces).boxed_unsync();
    let asked = runtime::imports::HttpRequest { body, ..request("POST", "http://a.example/", &[], b"") };
    assert_eq!(send(&sender, &call, asked).await, Err(HttpError::RequestTooLarge(1024)));
}

fn hyper_frame(size: usize) -> platform::outbound::Frame<bytes::Bytes> {
    platform::outbound::Frame::data(vec![b'x'; size].into())
}

#[tokio::test]
async fn heads_end_at_theirs() {
    let many: String = (0..129).map(|n| format!("x-{n}: 1\r\n")).collect();
    let large = format!("x: {}\r\n", "y".repeat(70 << 10));
    let world = World::public(move |head| {
        let headers = if head.contains("/many") { &many } else { &large };
        format!("HTTP/1.1 200 OK\r\n{headers}content-length: 0\r\n\r\n").into_bytes()
    })
    .await;
    let (sender, call) = (world.sender(), world.call(ANY));
    for path in ["many", "large"] {
        let answer = get(&sender, &call, &format!("http://a.example/{path}")).await;
        assert!(answer == Err(HttpError::AnswerHeaders), "{path}");
    }
    let value = "x".repeat(40 << 10);
    let asked = request("GET", "http://a.example/", &[("x-large", &value)], b"");
    assert!(matches!(send(&sender, &call, asked).await, Err(HttpError::Header(..))));
}

#[tokio::test]
async fn time_ends() {
    let silent = World::public(|_| b"HOLD".to_vec()).await;
    let slow = World::public(|_| b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nHOLD".to_vec()).await;
    let granted = Duration::from_millis(300);
    for world in [&silent, &slow] {
        let call = world.call(ANY);
        let answer = get(&world.sender(), &call, "http://a.example/").await;
        assert_eq!(answer.unwrap_err(), HttpError::Timeout(granted));
    }
    // The guest's own times can only shorten it.
    let short = Duration::from_millis(20);
    let first = Patience { first_byte: Some(short), ..Patience::default() };
    let between = Patience { between_bytes: Some(short), first_byte: Some(granted * 100), ..Patience::default() };
    for (world, patience) in [(&silent, first), (&slow, between)] {
        let asked = runtime::imports::HttpRequest { patience, ..request("GET", "http://a.example/", &[], b"") };
        let answer = send(&world.sender(), &world.call(ANY), asked).await;
        assert_eq!(answer.unwrap_err(), HttpError::Timeout(short));
    }
}

#[tokio::test]
async fn a_call_that_ends_ends_its_requests() {
    let world = World::public(|_| b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nHOLD".to_vec()).await;
    let (sender, call) = (world.sender(), world.call(r#"http = [{ allow = "http://*" }]"#));
    let (answer, ()) = tokio::join!(get(&sender, &call, "http://a.example/"), async {
        while world.heads.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        call.http.end();
    });
    assert!(matches!(answer, Err(HttpError::Ended | HttpError::Incomplete)), "{answer:?}");
    assert_eq!(get(&sender, &call, "http://a.example/").await, Err(HttpError::Ended));
    assert_eq!(world.recorded().matches("Request").count(), 1);
}

#[tokio::test]
async fn requests_are_counted() {
    let world = World::public(|_| ok("")).await;
    let (sender, call) = (world.sender(), world.call(r#"http = [{ allow = "http://*", requests = 2 }]"#));
    for _ in 0..2 {
        get(&sender, &call, "http://a.example/").await.unwrap();
    }
    assert_eq!(get(&sender, &call, "http://a.example/").await, Err(HttpError::TooMany(2)));
}

#[tokio::test]
async fn one_bad_address_refuses_all() {
    let answers = [
        vec![public(), [10, 0, 0, 1].into()],
        vec![[169, 254, 169, 254].into(), public()],
        vec![public(), v6("::1")],
        vec![public(); 65],
        vec![],
    ];
    let last = answers.clone();
    let world = World::new(move |_, n| last[n].clone(), |_| ok("")).await;
    let sender = world.sender();
    for answer in &answers {
        let sent = get(&sender, &world.call(ANY), "http://a.example/").await;
        let expected = if answer.len() == 2 { HttpError::Denied } else { HttpError::Dns };
        assert_eq!(sent, Err(expected), "{answer:?}");
    }
    assert!(world.reached.lock().unwrap().is_empty());
}

#[tokio::test]
async fn private_needs_a_word_and_one_host() {
    let here = |_: &str, _: usize| vec![[127, 0, 0, 1].into()];
    let world = World::new(here, |_| ok("")).await;
    let sender = world.sender();
    let grant = |allow: &str, private| format!(r#"http = [{{ allow = "{allow}", private = {private} }}]"#);
    for (allow, private, reached) in [
        ("http://at.home.example", false, 0),
        ("http://*.home.example", true, 0),
        ("http://*", true, 0),
        ("http://at.home.example", true, 1),
    ] {
        let call = world.call(&grant(allow, private));
        // Nobody answers at the forbidden server: only whether it is tried counts.
        let asked = request("GET", "http://at.home.example/", &[], b"");
        let patience = Patience { first_byte: Some(Duration::from_millis(50)), ..Patience::default() };
        let _ = send(&sender, &call, runtime::imports::HttpRequest { patience, ..asked }).await;
        assert_eq!(world.reached.lock().unwrap().len(), reached, "{allow}");
        if reached == 0 {
            let words = call.http.refused().unwrap().to_string();
            assert!(words.contains("private network") && words.contains("`private = true`"), "{words}");
        }
    }
    // Not even then.
    let metadata = World::new(|_, _| vec![[169, 254, 169, 254].into()], |_| ok("")).await;
    let call = metadata.call(&grant("http://at.home.example", true));
    assert_eq!(get(&metadata.sender(), &call, "http://at.home.example/").await, Err(HttpError::Denied));
    assert!(call.http.refused().unwrap().to_string().contains("No grant allows that"));
}
