//! `[connections.NAME]`.

use platform::outbound::Endpoint;
use serde::Deserialize;
use std::path::PathBuf;

/// An account that users can connect, as the operator registered it with the service.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ConnectionSettings {
    /// Where users are sent to agree.
    pub authorize: Endpoint,
    /// Where codes are exchanged for tokens.
    pub token: Endpoint,
    /// What is called by plugins: everything below this address, and nothing else.
    pub api: Endpoint,
    /// This host, as the service knows it.
    pub client_id: String,
    /// File with the secret that goes with it; absent: a public client.
    pub client_secret_file: Option<PathBuf>,
    /// What is asked for.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The service's name for itself; compared when it says it (RFC 9207).
    pub issuer: Option<String>,
}

impl ConnectionSettings {
    /// Whether all of it can be used; the error is a sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.api.url().query().is_some() {
            return Err("api: a base address has no query".into());
        }
        if self.client_id.is_empty() {
            return Err("client-id: it is what the service calls this host; it cannot be empty".into());
        }
        Ok(())
    }
}
