//! The section `[server.auth]`: how clients authenticate.

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
    /// Whether other machines may connect although all clients are then the same principal.
    pub anonymous: bool,
}

/// An OAuth issuer whose tokens are accepted.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "OAuthTable")]
pub struct OAuthSettings {
    /// The issuer, exactly as it is written in its tokens.
    pub issuer: Endpoint,
    /// This server's public address, such as `https://tools.example.com/mcp`, which clients name when they ask for a token (RFC 8707).
    pub resource: Endpoint,
    /// The values of `aud` in tokens for this server. Not every issuer writes the resource there: Entra writes the id of the
    /// application, and Keycloak writes what its audience mapper is set to.
    pub audience: Vec<String>,
    /// The `client_id` of clients of this server whose tokens need no `aud`, such as those of Cognito.
    pub client_ids: Vec<String>,
    /// Address of the issuer's keys; by default it is read from the issuer's metadata.
    pub jwks: Option<Endpoint>,
    /// Scopes that a token must have.
    pub required_scopes: Vec<String>,
    /// How users log in on this host's own pages. Without it, a browser that sends no token gets none of them.
    pub login: Option<LoginSettings>,
}

/// This host as a client of the issuer. The token of a login is checked like the tokens of other clients.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LoginSettings {
    /// The authorization endpoint.
    pub authorize: Endpoint,
    /// The token endpoint.
    pub token: Endpoint,
    pub client_id: String,
    /// File with the client secret; `None` for a public client.
    pub client_secret_file: Option<PathBuf>,
    /// Scopes to request; `None` for those that a token must have.
    pub scopes: Option<Vec<String>>,
}

/// The table as it is written in the configuration.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct OAuthTable {
    issuer: Endpoint,
    resource: Option<Endpoint>,
    audience: Option<OneOrMany>,
    #[serde(default)]
    client_ids: Vec<String>,
    jwks: Option<Endpoint>,
    #[serde(default)]
    required_scopes: Vec<String>,
    login: Option<LoginSettings>,
}

/// A text or a list of texts: JWTs write their audience in both ways.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    pub(super) fn as_slice(&self) -> &[String] {
        match self {
            OneOrMany::One(one) => std::slice::from_ref(one),
            OneOrMany::Many(many) => many,
        }
    }
}

impl TryFrom<OAuthTable> for OAuthSettings {
    type Error = String;

    fn try_from(table: OAuthTable) -> Result<Self, String> {
        let named = table.audience.as_ref().map_or(&[][..], OneOrMany::as_slice);
        let resource = match (table.resource, named) {
            (Some(resource), _) => resource,
            (None, [address]) => Endpoint::new(address).map_err(|error| {
                format!("`audience` is no address, so give this server's public address as `resource`, too ({error})")
            })?,
            (None, _) => return Err("give this server's public address as `resource`".into()),
        };
        let audience = match &table.audience {
            Some(audience) => audience.as_slice().to_vec(),
            None => vec![resource.as_str().to_owned()],
        };
        if audience.is_empty() || audience.iter().chain(&table.client_ids).any(String::is_empty) {
            return Err(
                "`audience` names nothing, or it or `client-ids` has an empty name: leave out what you do not use"
                    .into(),
            );
        }
        let OAuthTable { issuer, client_ids, jwks, required_scopes, login, .. } = table;
        Ok(Self { issuer, resource, audience, client_ids, jwks, required_scopes, login })
    }
}

impl AuthSettings {
    /// Checks the settings; the error is a sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.anonymous && self.authenticates() {
            return Err("`anonymous` beside `keys` or `oauth` would have no effect: remove it".into());
        }
        let Some(oauth) = &self.oauth else { return Ok(()) };
        if oauth.login.as_ref().is_some_and(|login| login.client_id.is_empty()) {
            return Err("oauth.login.client-id: must not be empty: write the id that the issuer gave this host".into());
        }
        // The characters of a scope in RFC 6749. A quote would end the value in the header that contains the scope.
        let plain = |c: u8| c.is_ascii_graphic() && c != b'"' && c != b'\\';
        match oauth.required_scopes.iter().find(|scope| scope.is_empty() || !scope.bytes().all(plain)) {
            Some(bad) => Err(format!("oauth.required-scopes: {bad:?} is no scope: write one word for each")),
            None => Ok(()),
        }
    }

    /// Refuses an address that other machines can reach, unless clients authenticate or the operator insists: everybody there
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
    fn the_audience_is_the_resource_unless_the_issuer_has_other_names() {
        let parse = |keys: &str| toml::from_str::<OAuthSettings>(&format!("issuer = \"https://a.example\"\n{keys}"));
        let (url, id) = ("https://b.example/mcp", "11111111-2222");
        for (keys, audience) in [
            (format!("resource = '{url}'"), vec![url]),
            (format!("audience = '{url}'"), vec![url]),
            (format!("resource = '{url}'\naudience = '{id}'"), vec![id]),
            (format!("resource = '{url}'\naudience = ['{id}', 'api://{id}']"), vec![id, "api://11111111-2222"]),
        ] {
            let oauth = parse(&keys).unwrap();
            assert_eq!(
                (oauth.resource.as_str(), oauth.audience),
                (url, audience.into_iter().map(String::from).collect()),
                "{keys}"
            );
        }
        for (keys, why) in [
            ("audience = 'my-client'", "give this server's public address as `resource`, too"),
            ("audience = ['a', 'b']", "as `resource`"),
            ("client-ids = ['a']", "as `resource`"),
            ("resource = 'https://b.example'\naudience = []", "empty"),
            ("resource = 'https://b.example'\naudience = ['a', '']", "empty"),
            ("resource = 'https://b.example'\nclient-ids = ['']", "empty"),
        ] {
            let error = parse(keys).unwrap_err().to_string();
            assert!(error.contains(why), "{keys}: {error}");
        }
    }

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
