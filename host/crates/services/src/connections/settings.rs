//! The `[connections.NAME]` sections of the configuration.

use platform::outbound::Endpoint;
use serde::Deserialize;
use std::path::PathBuf;

/// An OAuth client that the operator registered with a service.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ConnectionSettings {
    /// The authorization endpoint.
    pub authorize: Endpoint,
    /// The token endpoint.
    pub token: Endpoint,
    /// The base address of the API: plugins reach only what is below it.
    pub api: Endpoint,
    /// This host's client id at the service.
    pub client_id: String,
    /// File with the client secret; `None`: a public client.
    pub client_secret_file: Option<PathBuf>,
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The expected issuer; compared when the service sends one (RFC 9207).
    pub issuer: Option<String>,
}

impl ConnectionSettings {
    /// The error is a sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.api.url().query().is_some() {
            return Err("api: must not have a query".into());
        }
        if self.client_id.is_empty() {
            return Err("client-id: must not be empty: write the id that the service gave this host".into());
        }
        Ok(())
    }
}
