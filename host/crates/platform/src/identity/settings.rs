//! `[server.auth]`: how clients authenticate.

use crate::outbound::Endpoint;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;

/// How clients authenticate over HTTP. By default everybody is the same anonymous principal.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct AuthSettings {
    pub keys: Option<PathBuf>,
    pub oauth: Option<OAuthSettings>,
    /// Whether other machines are served although they are all the same principal.
    pub anonymous: bool,
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
        if self.anonymous && self.authenticates() {
            return Err("`anonymous` beside `keys` or `oauth` would have no effect: remove it".into());
        }
        let Some(oauth) = &self.oauth else { return Ok(()) };
        // The characters of a scope in RFC 6749; a quote would end the value of the header it is sent in.
        let plain = |c: u8| c.is_ascii_graphic() && c != b'"' && c != b'\\';
        match oauth.required_scopes.iter().find(|scope| scope.is_empty() || !scope.bytes().all(plain)) {
            Some(bad) => Err(format!("oauth.required-scopes: {bad:?} is no scope: write one word for each")),
            None => Ok(()),
        }
    }

    /// Refuses an address that other machines reach, unless clients authenticate or the operator insists: everybody there
    /// could call every tool. The error is a sentence.
    pub fn check_address(&self, address: SocketAddr) -> Result<(), String> {
        if self.authenticates() || self.anonymous || address.ip().to_canonical().is_loopback() {
            return Ok(());
        }
        Err(format!(
            "other machines may reach {address}, and without keys everybody there could call every tool: set `keys` or `oauth` under [server.auth], listen on 127.0.0.1, or pass --insecure (`anonymous = true` under [server.auth]) if something else checks who calls"
        ))
    }

    fn authenticates(&self) -> bool {
        self.keys.is_some() || self.oauth.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_are_served_only_if_somebody_checks_who_calls() {
        let settings = |text: &str| toml::from_str::<AuthSettings>(text).unwrap();
        let (none, keys, anonymous) = (settings(""), settings("keys = \"keys.toml\""), settings("anonymous = true"));
        for local in ["127.0.0.1:80", "127.8.9.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
            assert_eq!(none.check_address(local.parse().unwrap()), Ok(()), "{local}");
        }
        for open in ["0.0.0.0:80", "[::]:80", "192.168.1.2:0", "[fe80::1]:80", "[::ffff:0.0.0.0]:80", "8.8.8.8:443"] {
            let address = open.parse().unwrap();
            assert!(none.check_address(address).is_err_and(|why| why.contains("[server.auth]")), "{open}");
            assert_eq!((keys.check_address(address), anonymous.check_address(address)), (Ok(()), Ok(())), "{open}");
        }
        assert!(settings("keys = \"k\"\nanonymous = true").check().is_err_and(|why| why.contains("no effect")));
    }
}
