//! Serves the account pages: together with MCP over HTTP, or alone beside stdio.

use super::html::error_page;
use super::routes::routes;
use axum::extract::Request;
use axum::http::header;
use axum::middleware::{Next, from_fn};
use services::connections::{ConnectPageError, ConnectionBroker};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use url::Url;

/// Makes the bound address the public URL, unless the operator has configured one; returns the public URL.
pub(in crate::transport) fn set_public_url(broker: &ConnectionBroker, bound: SocketAddr) -> Url {
    let authority = if bound.ip().is_unspecified() { format!("localhost:{}", bound.port()) } else { bound.to_string() };
    match Url::parse(&format!("http://{authority}/")) {
        Ok(url) => {
            broker.set_public_url(url.clone());
            broker.public().cloned().unwrap_or(url)
        }
        Err(_) => unreachable!("a socket's address is the authority of a URL"),
    }
}

/// Serves only these pages, on a free port of the loopback interface, until `stop` is cancelled.
pub async fn serve_account_pages(broker: Arc<ConnectionBroker>, stop: CancellationToken) -> std::io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let bound = listener.local_addr()?;
    set_public_url(&broker, bound);
    // Against DNS rebinding: no other host name is accepted.
    let check_host = move |request: Request, next: Next| async move {
        let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
        let is_allowed = host.is_some_and(|host| {
            [bound.to_string(), format!("localhost:{}", bound.port())].iter().any(|allowed| allowed == host)
        });
        if is_allowed { next.run(request).await } else { error_page(&ConnectPageError::OtherBrowser) }
    };
    let router = routes(broker, None).layer(from_fn(check_host));
    tracing::info!("pages for connecting accounts are on http://{bound}");
    tokio::spawn(async move {
        let serving = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned());
        if let Err(error) = serving.await {
            tracing::error!(%error, "pages for connecting accounts are not served any more");
        }
    });
    Ok(())
}
