//! The addresses and redirects that are followed, and those that are refused.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server that answers every connection with this text and counts the connections.
async fn server(answer: impl Into<String>) -> (Url, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let (count, answer) = (Arc::new(AtomicUsize::new(0)), answer.into());
    let counted = count.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (url, count)
}

fn request(url: Url, network: AllowedNetwork) -> GuardedRequest {
    let (headers, body, timeout) = (HeaderMap::new(), Bytes::new(), Duration::from_secs(60));
    GuardedRequest { method: Method::GET, url, headers, body, network, follow: true, timeout, max_body: 100 }
}

async fn go(url: Url, network: AllowedNetwork) -> Result<OutboundResponse, GuardedError> {
    GuardedClient::new().unwrap().send(request(url, network)).await
}

#[tokio::test]
async fn this_machine_is_reached_only_when_it_was_named() {
    let (url, count) = server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi").await;
    assert_eq!(go(url.clone(), AllowedNetwork::Loopback).await.unwrap().body, b"hi");
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert!(matches!(go(url.clone(), AllowedNetwork::Public).await, Err(GuardedError::Address { .. })));
    let mut named = url;
    named.set_host(Some("localhost")).unwrap();
    // This request is refused after its name is resolved.
    assert!(matches!(go(named, AllowedNetwork::Public).await, Err(GuardedError::Address { .. })));
    assert_eq!(count.load(Ordering::SeqCst), 1, "nobody was connected to");
}

#[tokio::test]
async fn redirects_lead_to_the_public_or_nowhere() {
    let (sink, count) = server("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    for (location, words) in [
        (sink.to_string(), "not https"),
        (sink.to_string().replace("http:", "https:"), "this machine"),
        ("https://169.254.169.254/latest/".into(), "metadata"),
        ("https://[::ffff:10.0.0.1]/".into(), "private network"),
        ("http://169.254.169.254/latest/".into(), "not https"),
        ("https://u:p@example.com/".into(), "a password"),
        ("file:///etc/passwd".into(), "not https"),
    ] {
        let (url, _) = server(format!("HTTP/1.1 307 X\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")).await;
        let error = go(url, AllowedNetwork::Loopback).await.err().unwrap().to_string();
        assert!(error.contains(words), "{location}: {error}");
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
    let (url, count) =
        server("HTTP/1.1 302 X\r\nLocation: /again\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").await;
    let error = go(url, AllowedNetwork::Loopback).await.err().unwrap();
    assert!(error.to_string().contains("too many") && count.load(Ordering::SeqCst) == REDIRECTS + 1, "{error}");
}

#[test]
fn a_secret_does_not_go_to_the_next_host() {
    let first = Url::parse("https://a.example/x").unwrap();
    let turned = |location: &'static str| {
        let mut request = request(first.clone(), AllowedNetwork::Loopback);
        request.headers.insert(header::AUTHORIZATION, header::HeaderValue::from_static("Basic x"));
        redirect(&mut request, Some(&header::HeaderValue::from_static(location))).unwrap();
        (request.headers.contains_key(header::AUTHORIZATION), request.network)
    };
    assert_eq!(turned("/y"), (true, AllowedNetwork::Loopback));
    for elsewhere in ["https://b.example/y", "https://a.example:8443/y", "//a.example.evil.example/y"] {
        assert_eq!(turned(elsewhere), (false, AllowedNetwork::Public), "{elsewhere}");
    }
}

#[tokio::test]
async fn answers_are_bounded() {
    let (url, _) = server(format!("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n{}", "x".repeat(101))).await;
    assert!(matches!(go(url, AllowedNetwork::Loopback).await, Err(GuardedError::TooLarge(..))));
    let (url, _) = server(format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}", "x".repeat(500))).await;
    assert!(matches!(go(url, AllowedNetwork::Loopback).await, Err(GuardedError::TooLarge(..))));
    let (url, _) = server("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort").await;
    assert!(matches!(go(url, AllowedNetwork::Loopback).await, Err(GuardedError::Unreachable(..))));
}

#[tokio::test]
async fn plain_http_is_for_this_machine() {
    for text in ["http://93.184.216.34/", "http://10.0.0.1/", "http://example.com/", "ftp://127.0.0.1/"] {
        let error = go(Url::parse(text).unwrap(), AllowedNetwork::Private).await.err().unwrap();
        assert!(matches!(error, GuardedError::Plain(_)), "{text}: {error}");
    }
}

#[test]
fn what_is_never_reached() {
    let permits = |network: AllowedNetwork, address: &str| network.permits(address.parse().unwrap()).is_ok();
    for never in
        ["169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "0.0.0.0", "64:ff9b::a00:1", "224.0.0.1"]
    {
        assert!(
            ![AllowedNetwork::Public, AllowedNetwork::Loopback, AllowedNetwork::Private]
                .into_iter()
                .any(|network| permits(network, never)),
            "{never}"
        );
    }
    assert!(permits(AllowedNetwork::Private, "10.0.0.1") && !permits(AllowedNetwork::Loopback, "10.0.0.1"));
    assert!(permits(AllowedNetwork::Loopback, "::ffff:127.0.0.1") && !permits(AllowedNetwork::Public, "127.0.0.1"));
}
