//! All outbound HTTP: to token issuers, connected services, the collector and, with more checks, plugin registries.
//!
//! Clients follow no redirects, use no proxies from the environment and keep no cookies. Every exchange is bounded in
//! time and size. Secrets are only sent to an [`Endpoint`].

mod client;
mod endpoint;
mod exchange;
mod guarded;
mod network;
mod span_exporter;
mod tls;

pub use client::{
    ClientBuildError, OpenResponse, OutboundClient, OutboundError, OutboundRequest, OutboundResponse, Sent,
};
pub use endpoint::{Endpoint, EndpointError};
pub use exchange::{ExchangeClient, ExchangeError, ExchangeResponse, ExchangeTarget, ResponseBody};
pub use guarded::{AllowedNetwork, GuardedClient, GuardedError, GuardedRequest};
pub use hyper::body::{Body, Frame, SizeHint};
pub use network::{Network, SystemNetwork};
pub use reqwest::Method;
pub use reqwest::header;
pub use span_exporter::SpanExporter;
