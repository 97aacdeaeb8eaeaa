//! A client of 2025-11-25 that comes for one call: it opens a session and a stream, lists the tools, calls one, and ends
//! the session. Six requests.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::message::{Template, is_notification};
use super::sse::Events;

const VERSION: &str = "2025-11-25";

type Sender = SendRequest<Full<Bytes>>;

/// One whole visit, from the first connection to the end of the session.
pub(crate) async fn visit(address: SocketAddr, echo: &Template, number: u64) -> Result<()> {
    let mut sender = connect(address).await?;
    let mut visitor = Visitor { host: address.to_string(), session: None };
    let info = json!({"name": "portcullis-bench", "version": env!("CARGO_PKG_VERSION")});
    let params = json!({"protocolVersion": VERSION, "capabilities": {}, "clientInfo": info});
    let response = visitor.post(&mut sender, request(0, "initialize", &params)).await?;
    let session = response.headers().get("mcp-session-id").context("the server opens no session")?;
    visitor.session = Some(session.to_str()?.to_owned());
    let agreed: Value = serde_json::from_slice(&answer(response).await?)?;
    ensure!(agreed["result"]["protocolVersion"] == VERSION, "the server does not agree: {agreed}");

    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    visitor.post(&mut sender, ready.to_string()).await?.into_body().collect().await?;

    // The stream stays open for what the server may say, and needs a connection of its own.
    let mut listener = connect(address).await?;
    let stream = visitor.send(&mut listener, Method::GET, String::new()).await?;

    let listed = visitor.post(&mut sender, request(1, "tools/list", &json!({}))).await?;
    let listed: Value = serde_json::from_slice(&answer(listed).await?)?;
    let tools = listed["result"]["tools"].as_array().map_or(&[][..], Vec::as_slice);
    let wanted = echo.tool.as_deref();
    ensure!(tools.iter().any(|tool| tool["name"].as_str() == wanted), "the tool is not listed: {listed}");

    let mut body = Vec::with_capacity(256);
    echo.write(number, &mut body);
    let called = visitor.post(&mut sender, String::from_utf8(body)?).await?;
    echo.check(number, &answer(called).await?)?;

    visitor.send(&mut sender, Method::DELETE, String::new()).await?.into_body().collect().await?;
    drop(stream);
    Ok(())
}

/// What every request of a visit carries.
struct Visitor {
    host: String,
    session: Option<String>,
}

impl Visitor {
    async fn post(&self, sender: &mut Sender, body: String) -> Result<Response<Incoming>> {
        self.send(sender, Method::POST, body).await
    }

    async fn send(&self, sender: &mut Sender, method: Method, body: String) -> Result<Response<Incoming>> {
        let mut request = Request::builder()
            .method(&method)
            .uri("/mcp")
            .header(HOST, &self.host)
            .header(CONTENT_TYPE, "application/json")
            .header(
                ACCEPT,
                if method == Method::GET { "text/event-stream" } else { "application/json, text/event-stream" },
            );
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", VERSION);
        }
        sender.ready().await.context("the server closed the connection")?;
        let response = sender.send_request(request.body(Full::from(body))?).await?;
        if !response.status().is_success() {
            let status = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            bail!("HTTP status {status} for {method}: {}", String::from_utf8_lossy(&body));
        }
        Ok(response)
    }
}

async fn connect(address: SocketAddr) -> Result<Sender> {
    let stream = TcpStream::connect(address).await.with_context(|| format!("cannot connect to {address}"))?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    // A broken connection is reported by the request that uses it.
    tokio::spawn(connection);
    Ok(sender)
}

fn request(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// The answer, which is the whole body or one event of a stream.
async fn answer(response: Response<Incoming>) -> Result<Vec<u8>> {
    let is_stream =
        response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    let body = response.into_body().collect().await.context("the answer broke off")?.to_bytes();
    if !is_stream {
        return Ok(body.into());
    }
    let mut found = None;
    Events::default().feed(&body, |message| {
        if !is_notification(message)? {
            found = Some(message.to_vec());
        }
        anyhow::Ok(())
    })?;
    found.context("the stream ended without an answer")
}
