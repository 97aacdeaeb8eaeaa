//! Streamable HTTP over one keep-alive connection, on hyper's low-level client.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpSocket, TcpStream};

use super::message::{Answer, Template, is_notification};
use super::sse::Events;

/// A client that sends its requests in sequence over its own connection.
pub(crate) struct HttpClient {
    sender: SendRequest<Full<Bytes>>,
    host: HeaderValue,
    next: u64,
}

impl HttpClient {
    pub(crate) async fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await.with_context(|| format!("cannot connect to {address}"))?;
        Self::on(stream, address).await
    }

    /// A client for which the kernel keeps only about this many bytes that it has not read.
    pub(crate) async fn connect_with_window(address: SocketAddr, bytes: u32) -> Result<Self> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_recv_buffer_size(bytes)?;
        Self::on(socket.connect(address).await?, address).await
    }

    async fn on(stream: TcpStream, address: SocketAddr) -> Result<Self> {
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // A broken connection is reported by the request that uses it.
        tokio::spawn(connection);
        Ok(Self { sender, host: HeaderValue::try_from(address.to_string())?, next: 0 })
    }

    /// Pauses after every `piece` bytes of a stream.
    pub(super) async fn exchange_slowly(
        &mut self,
        template: &Template,
        piece: usize,
        mut pause: impl AsyncFnMut() -> Result<()>,
        mut on_notification: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<Answer> {
        let number = self.next;
        self.next += 1;
        let response = self.send(template, number).await?;
        let mut answer = None;
        if is_event_stream(&response) {
            let mut events = Events::default();
            let mut body = response.into_body();
            let mut unpaused = 0;
            while let Some(frame) = body.frame().await {
                let Ok(data) = frame.context("the event stream broke off")?.into_data() else {
                    continue;
                };
                events.feed(&data, |message| {
                    if is_notification(message)? {
                        return on_notification(message);
                    }
                    answer = Some(template.check(number, message)?);
                    anyhow::Ok(())
                })?;
                unpaused += data.len();
                if unpaused >= piece {
                    unpaused = 0;
                    pause().await?;
                }
            }
        } else {
            let body = response.into_body().collect().await.context("the answer broke off")?.to_bytes();
            answer = Some(template.check(number, &body)?);
        }
        answer.with_context(|| format!("the stream of request {number} ended without an answer"))
    }

    /// The bytes of the answer to the request numbered 0, which must be right.
    pub(crate) async fn bytes(&mut self, template: &Template) -> Result<Bytes> {
        let body = self.send(template, 0).await?.into_body().collect().await?.to_bytes();
        template.check(0, &body)?;
        Ok(body)
    }

    /// Sends `total` requests, each after the answer to the previous one.
    pub(crate) async fn repeat(&mut self, template: &Template, total: usize) -> Result<()> {
        for _ in 0..total {
            self.exchange_slowly(
                template,
                usize::MAX,
                async || Ok(()),
                |_| bail!("an unexpected message came before the answer"),
            )
            .await?;
        }
        Ok(())
    }

    async fn send(&mut self, template: &Template, number: u64) -> Result<Response<Incoming>> {
        let mut body = Vec::with_capacity(1024);
        template.write(number, &mut body);
        let mut request = Request::post("/mcp")
            .header(HOST, self.host.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"))
            .header("mcp-protocol-version", HeaderValue::from_static("2026-07-28"))
            .header("mcp-method", HeaderValue::from_static(template.method));
        if let Some(tool) = &template.tool {
            request = request.header("mcp-name", tool.as_str());
        }
        self.sender.ready().await.context("the server closed the connection")?;
        let response = self.sender.send_request(request.body(Full::from(body))?).await?;
        if response.status() != StatusCode::OK {
            let status = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            bail!("HTTP status {status}: {}", String::from_utf8_lossy(&body));
        }
        Ok(response)
    }
}

fn is_event_stream(response: &Response<Incoming>) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
}

/// Spreads `total` requests over the connections, one in flight on each, and returns the requests per second.
pub(crate) async fn crowd(clients: &mut [HttpClient], template: &Template, total: usize) -> Result<f64> {
    ensure!(!clients.is_empty(), "a crowd needs a connection");
    let each = total.div_ceil(clients.len());
    let count = each * clients.len();
    let begin = std::time::Instant::now();
    futures::future::try_join_all(clients.iter_mut().map(|client| client.repeat(template, each))).await?;
    Ok(count as f64 / begin.elapsed().as_secs_f64())
}
