//! What a request and its answer may take.

use super::fake_network::{FakeNetwork, get, ok, public, request, send, v6};
use http_body_util::BodyExt;
use policy::HttpUrlError;
use runtime::imports::{HttpError, HttpTimeouts};
use std::time::Duration;

const ANY: &str = r#"http = [{ allow = "GET,POST http://*", body = "1 KiB", timeout = "300ms" }]"#;

#[tokio::test]
async fn a_granted_request_is_sent_as_parsed() {
    let network = FakeNetwork::public(|_| ok("hello")).await;
    let (sender, call) = (network.sender(), network.call(ANY));
    let headers = [("accept", "text/plain"), ("te", "trailers"), ("expect", "100-continue"), ("proxy-x", "1")];
    let http_request = request("GET", "http://API.Example.com:80/a/../b?q=1#f", &headers, b"");
    assert_eq!(send(&sender, &call, http_request).await.unwrap().2, "hello");
    let head = network.head().to_ascii_lowercase();
    assert!(head.starts_with("get /b?q=1 http/1.1\r\n"), "{head}");
    assert!(head.contains("host: api.example.com\r\n") && head.contains("accept: text/plain"), "{head}");
    assert!(head.contains("connection: close") && head.contains("user-agent: portcullis/"), "{head}");
    for ours in ["te:", "expect:", "proxy-x:"] {
        assert!(!head.contains(ours), "{head}");
    }
    call.http.end();
    let recorded = network.recorded();
    for part in ["GET http://api.example.com/b\"", "93.184.216.34:80", "status: Some(200)", "bytes: 5"] {
        assert!(recorded.contains(part), "{part}: {recorded}");
    }
}

#[tokio::test]
async fn nothing_is_sent_without_a_grant() {
    let network = FakeNetwork::public(|_| ok("")).await;
    let sender = network.sender();
    for (grants, url) in [
        ("", "http://a.example/"),
        (r#"http = [{ allow = "http://b.example" }]"#, "http://a.example/"),
        (r#"http = [{ allow = "POST http://a.example" }]"#, "http://a.example/"),
        (r#"http = [{ allow = "https://a.example" }]"#, "http://a.example/"),
        (r#"http = [{ allow = "http://a.example/v1/" }]"#, "http://a.example/v1/%2e%2e/v2"),
        (r#"http = [{ allow = "http://*" }]"#, "http://93.184.216.34/"),
    ] {
        let call = network.call(grants);
        assert_eq!(get(&sender, &call, url).await, Err(HttpError::Denied), "{grants} {url}");
        let denial = call.http.last_denial().unwrap().for_operator();
        assert!(denial.contains("denied: http `GET http://"), "{denial}");
    }
    assert!(network.reached.lock().is_empty());
    assert_eq!(network.recorded().matches("Denial").count(), 6);
    let call = network.call(ANY);
    assert_eq!(
        send(&sender, &call, request("TRACE", "http://a.example/", &[], b"")).await,
        Err(HttpError::Request(HttpUrlError::Method))
    );
}

#[tokio::test]
async fn bodies_end_at_their_limits() {
    let long = "x".repeat(1025);
    let answer = long.clone();
    let network = FakeNetwork::public(move |head| match head.contains("/chunked") {
        true => {
            format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n401\r\n{answer}\r\n0\r\n\r\n").into_bytes()
        }
        false => ok(&answer[..if head.contains("/long") { 1025 } else { 1024 }]),
    })
    .await;
    let (sender, call) = (network.sender(), network.call(ANY));
    assert_eq!(get(&sender, &call, "http://a.example/").await.unwrap().2.len(), 1024);
    for path in ["long", "chunked"] {
        let answer = get(&sender, &call, &format!("http://a.example/{path}")).await;
        assert_eq!(answer, Err(HttpError::AnswerTooLarge(1024)));
    }
    let sent = network.heads.lock().len();
    let http_request = request("POST", "http://a.example/", &[], long.as_bytes());
    assert_eq!(send(&sender, &call, http_request).await, Err(HttpError::RequestTooLarge(1024)));
    assert_eq!(network.heads.lock().len(), sent);
    // A body that does not say how long it is.
    let pieces = futures::stream::iter((0..20).map(|_| Ok(hyper_frame(100))));
    let body = http_body_util::StreamBody::new(pieces).boxed_unsync();
    let http_request = runtime::imports::HttpRequest { body, ..request("POST", "http://a.example/", &[], b"") };
    assert_eq!(send(&sender, &call, http_request).await, Err(HttpError::RequestTooLarge(1024)));
}

fn hyper_frame(size: usize) -> platform::outbound::Frame<bytes::Bytes> {
    platform::outbound::Frame::data(vec![b'x'; size].into())
}

#[tokio::test]
async fn response_heads_are_bounded() {
    let many: String = (0..129).map(|n| format!("x-{n}: 1\r\n")).collect();
    let large = format!("x: {}\r\n", "y".repeat(70 << 10));
    let network = FakeNetwork::public(move |head| {
        let headers = if head.contains("/many") { &many } else { &large };
        format!("HTTP/1.1 200 OK\r\n{headers}content-length: 0\r\n\r\n").into_bytes()
    })
    .await;
    let (sender, call) = (network.sender(), network.call(ANY));
    for path in ["many", "large"] {
        let answer = get(&sender, &call, &format!("http://a.example/{path}")).await;
        assert!(answer == Err(HttpError::AnswerHeaders), "{path}");
    }
    let value = "x".repeat(40 << 10);
    let http_request = request("GET", "http://a.example/", &[("x-large", &value)], b"");
    assert!(matches!(send(&sender, &call, http_request).await, Err(HttpError::Header(..))));
}

#[tokio::test]
async fn timeouts_end_requests() {
    let silent = FakeNetwork::public(|_| b"HOLD".to_vec()).await;
    let slow = FakeNetwork::public(|_| b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nHOLD".to_vec()).await;
    let granted = Duration::from_millis(300);
    for network in [&silent, &slow] {
        let call = network.call(ANY);
        let answer = get(&network.sender(), &call, "http://a.example/").await;
        assert_eq!(answer.unwrap_err(), HttpError::Timeout(granted));
    }
    // The guest's own timeouts can only shorten the granted one.
    let short = Duration::from_millis(20);
    let first = HttpTimeouts { first_byte: Some(short), ..HttpTimeouts::default() };
    let between =
        HttpTimeouts { between_bytes: Some(short), first_byte: Some(granted * 100), ..HttpTimeouts::default() };
    for (network, timeouts) in [(&silent, first), (&slow, between)] {
        let http_request = runtime::imports::HttpRequest { timeouts, ..request("GET", "http://a.example/", &[], b"") };
        let answer = send(&network.sender(), &network.call(ANY), http_request).await;
        assert_eq!(answer.unwrap_err(), HttpError::Timeout(short));
    }
}

#[tokio::test]
async fn ending_a_call_ends_its_requests() {
    let network = FakeNetwork::public(|_| b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nHOLD".to_vec()).await;
    let (sender, call) = (network.sender(), network.call(r#"http = [{ allow = "http://*" }]"#));
    let (answer, ()) = tokio::join!(get(&sender, &call, "http://a.example/"), async {
        while network.heads.lock().is_empty() {
            tokio::task::yield_now().await;
        }
        call.http.end();
    });
    assert!(matches!(answer, Err(HttpError::Ended | HttpError::Incomplete)), "{answer:?}");
    assert_eq!(get(&sender, &call, "http://a.example/").await, Err(HttpError::Ended));
    assert_eq!(network.recorded().matches("Request").count(), 1);
}

#[tokio::test]
async fn requests_are_counted() {
    let network = FakeNetwork::public(|_| ok("")).await;
    let (sender, call) = (network.sender(), network.call(r#"http = [{ allow = "http://*", requests = 2 }]"#));
    for _ in 0..2 {
        get(&sender, &call, "http://a.example/").await.unwrap();
    }
    assert_eq!(get(&sender, &call, "http://a.example/").await, Err(HttpError::TooMany(2)));
}

/// A look-up continues in its thread when nobody waits for it any more.
#[tokio::test]
async fn look_ups_that_are_given_up_hold_few_threads() {
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let ended = std::sync::Mutex::new(ended);
    let slow = move |_: &str, _: usize| {
        // Until the test ends.
        let _ = ended.lock().unwrap().recv();
        vec![public()]
    };
    let network = FakeNetwork::new(slow, |_| ok("")).await;
    let sender = network.sender();
    for _ in 0..50 {
        let call = network.call(&ANY.replace("300ms", "10ms"));
        assert!(matches!(get(&sender, &call, "http://a.example/").await, Err(HttpError::Timeout(_))));
    }
    let begun = network.lookups.load(std::sync::atomic::Ordering::SeqCst);
    drop(end);
    assert!((1..=32).contains(&begun), "{begun} threads of one plugin");
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
    let network = FakeNetwork::new(move |_, n| last[n].clone(), |_| ok("")).await;
    let sender = network.sender();
    for answer in &answers {
        let sent = get(&sender, &network.call(ANY), "http://a.example/").await;
        let expected = if answer.len() == 2 { HttpError::Denied } else { HttpError::Dns };
        assert_eq!(sent, Err(expected), "{answer:?}");
    }
    assert!(network.reached.lock().is_empty());
}

#[tokio::test]
async fn private_addresses_need_the_flag_and_one_host() {
    let here = |_: &str, _: usize| vec![[127, 0, 0, 1].into()];
    let network = FakeNetwork::new(here, |_| ok("")).await;
    let sender = network.sender();
    let grant = |allow: &str, private| format!(r#"http = [{{ allow = "{allow}", private = {private} }}]"#);
    for (allow, private, reached) in [
        ("http://at.home.example", false, 0),
        ("http://*.home.example", true, 0),
        ("http://*", true, 0),
        ("http://at.home.example", true, 1),
    ] {
        let call = network.call(&grant(allow, private));
        // Nobody answers at the forbidden server: only whether it is tried counts.
        let http_request = request("GET", "http://at.home.example/", &[], b"");
        let timeouts = HttpTimeouts { first_byte: Some(Duration::from_millis(50)), ..HttpTimeouts::default() };
        let _ = send(&sender, &call, runtime::imports::HttpRequest { timeouts, ..http_request }).await;
        assert_eq!(network.reached.lock().len(), reached, "{allow}");
        if reached == 0 {
            let words = call.http.last_denial().unwrap().for_operator();
            assert!(words.contains("private network") && words.contains("`private = true`"), "{words}");
        }
    }
    // Not even then.
    let metadata = FakeNetwork::new(|_, _| vec![[169, 254, 169, 254].into()], |_| ok("")).await;
    let call = metadata.call(&grant("http://at.home.example", true));
    assert_eq!(get(&metadata.sender(), &call, "http://at.home.example/").await, Err(HttpError::Denied));
    assert!(call.http.last_denial().unwrap().to_string().contains("No grant allows that"));
}
