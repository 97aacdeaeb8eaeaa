//! `[server.auth]`: how clients authenticate.

use crate::outbound::Endpoint;
use serde::Deserialize;
use std::path::PathBuf;

/// How clients authenticate over HTTP. By default everybody is the same anonymous principal.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct AuthSettings {
    pub keys: Option<PathBuf>,
    pub oauth: Option<OAuthSettings>,
}

/// An OAuth issuer whose tokens are accepted.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OAuthSettings {
    /// The issuer, exactly as its tokens name it.
    pub issuer: Endpoint,
    /// This server's public address, exactly as tokens name it in `aud`, such as `https://tools.example.com/mcp`.
    pub audience: Endpoint,
    /// Address of the issuer's keys; by default it comes from the issuer's metadata.
    pub jwks: Option<Endpoint>,
    /// Scopes that a token must have.
    #[serde(default)]
    pub required_scopes: Vec<String>,
}

impl AuthSettings {
    /// Checks the settings; the error is a sentence.
    pub fn check(&self) -> Result<(), String> {
        let Some(oauth) = &self.oauth else { return Ok(()) };
        // The characters of a scope in RFC 6749; a quote would end the value of the header it is sent in.
        let plain = |c: u8| c.is_ascii_graphic() && c != b'"' && c != b'\\';
        match oauth.required_scopes.iter().find(|scope| scope.is_empty() || !scope.bytes().all(plain)) {
            Some(bad) => Err(format!("oauth.required-scopes: {bad:?} is no scope: write one word for each")),
            None => Ok(()),
        }
    }
}
