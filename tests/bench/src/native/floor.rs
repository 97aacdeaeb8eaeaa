//! The floor of any server over HTTP: hyper reads each request and answers with the same bytes.

use std::convert::Infallible;

use anyhow::Result;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// Serves until the process is killed.
pub(crate) async fn serve(listener: TcpListener, answer: Vec<u8>) -> Result<()> {
    let answer = Bytes::from(answer);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answer = answer.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let answer = answer.clone();
            async move {
                // The next request starts where this one ends, so it is read in any case. A broken one ends here.
                let _ = request.into_body().collect().await;
                let mut response = Response::new(Full::new(answer));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                Ok::<_, Infallible>(response)
            }
        });
        // An error is that of a client that left.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
