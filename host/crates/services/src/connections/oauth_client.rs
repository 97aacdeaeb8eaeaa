//! This host as an OAuth client: where it sends a browser for the user's consent, and what the token endpoint returns for the
//! code.

use super::credential::{Credential, CredentialError, read_response};
use super::error::BrokerError;
use super::pages::FlowStart;
use super::settings::ConnectionSettings;
use platform::files::read_key_file;
use platform::identity::{LoginSettings, OAuthSettings};
use platform::outbound::{Endpoint, Method, OutboundClient, OutboundError, OutboundRequest, header};
use std::path::Path;
use std::time::Duration;
use url::Url;
use url::form_urlencoded::Serializer;

/// Timeout of one request to a token endpoint.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Size of its response in bytes. Real ones are a few kilobytes.
const MAX_ANSWER: usize = 64 << 10;

pub(super) struct OAuthClient {
    authorize: Endpoint,
    token: Endpoint,
    id: String,
    secret: Option<String>,
    scopes: Vec<String>,
    /// Compared with the issuer that the browser comes back with, if it has one (RFC 9207).
    pub(super) issuer: Option<String>,
    /// The server that the token is for (RFC 8707).
    resource: Option<String>,
}

/// The answer with which a browser came back.
pub struct FlowAnswer {
    pub issuer: Option<String>,
    /// The code, or an OAuth error code.
    pub code: Result<String, String>,
}

impl OAuthClient {
    /// The client of a service that users connect. Blocks.
    pub(super) fn of_connection(name: &str, settings: &ConnectionSettings) -> Result<Self, BrokerError> {
        Ok(Self {
            authorize: settings.authorize.clone(),
            token: settings.token.clone(),
            id: settings.client_id.clone(),
            secret: read_secret(&format!("connections.{name}"), settings.client_secret_file.as_deref())?,
            scopes: settings.scopes.clone(),
            issuer: settings.issuer.clone(),
            resource: None,
        })
    }

    /// The client of the issuer at which users log in. Blocks.
    pub(super) fn of_issuer(oauth: &OAuthSettings, login: &LoginSettings) -> Result<Self, BrokerError> {
        // Issuers that write another audience into their tokens do not know the resource, and some refuse requests that name
        // it.
        let resource = oauth.resource.as_str();
        let names_resource = oauth.audience.iter().any(|audience| audience == resource);
        Ok(Self {
            authorize: login.authorize.clone(),
            token: login.token.clone(),
            id: login.client_id.clone(),
            secret: read_secret("server.auth.oauth.login", login.client_secret_file.as_deref())?,
            scopes: login.scopes.as_ref().unwrap_or(&oauth.required_scopes).clone(),
            issuer: Some(oauth.issuer.as_str().to_owned()),
            resource: names_resource.then(|| resource.to_owned()),
        })
    }

    /// The address to which the browser is sent.
    pub(super) fn authorize_url(&self, start: &FlowStart, callback: &str) -> Url {
        let mut url = self.authorize.url().clone();
        let mut query = url.query_pairs_mut();
        query.append_pair("response_type", "code").append_pair("client_id", &self.id);
        query.append_pair("redirect_uri", callback);
        if !self.scopes.is_empty() {
            query.append_pair("scope", &self.scopes.join(" "));
        }
        query.extend_pairs(self.resource.iter().map(|resource| ("resource", resource)));
        query.append_pair("state", &start.state);
        query.append_pair("code_challenge", &start.challenge).append_pair("code_challenge_method", "S256");
        drop(query);
        url
    }

    /// The credential for an authorization code.
    pub(super) async fn redeem(
        &self,
        outbound: &OutboundClient,
        code: &str,
        verifier: &str,
        callback: &str,
        now: u64,
    ) -> Result<Credential, CredentialError> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", callback),
            ("code_verifier", verifier),
        ];
        self.request(outbound, &fields, now).await
    }

    /// The credential for a refresh token.
    pub(super) async fn renew(
        &self,
        outbound: &OutboundClient,
        refresh: &str,
        now: u64,
    ) -> Result<Credential, CredentialError> {
        self.request(outbound, &[("grant_type", "refresh_token"), ("refresh_token", refresh)], now).await
    }

    async fn request(
        &self,
        outbound: &OutboundClient,
        fields: &[(&str, &str)],
        now: u64,
    ) -> Result<Credential, CredentialError> {
        let mut headers = header::HeaderMap::new();
        let form_type = header::HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(header::CONTENT_TYPE, form_type);
        headers.insert(header::ACCEPT, header::HeaderValue::from_static("application/json"));
        let ask = OutboundRequest {
            method: Method::POST,
            url: self.token.url().clone(),
            headers,
            body: self.form(fields).into_bytes(),
            timeout: TIMEOUT,
            max_body: MAX_ANSWER,
        };
        let response = outbound.ask(ask).await.map_err(|error| match error {
            OutboundError::Timeout(_, after) => CredentialError::Timeout(millis(after)),
            OutboundError::TooLarge(..) | OutboundError::Unreachable(..) => CredentialError::Failed(error.to_string()),
        })?;
        read_response(response.status, &response.body, now)
    }

    fn form(&self, fields: &[(&str, &str)]) -> String {
        let mut form = Serializer::new(String::new());
        form.extend_pairs(fields).append_pair("client_id", &self.id);
        form.extend_pairs(self.secret.iter().map(|secret| ("client_secret", secret)));
        form.extend_pairs(self.resource.iter().map(|resource| ("resource", resource)));
        form.finish()
    }
}

/// The client secret that a table of the configuration names; `None`: a public client. Blocks.
fn read_secret(table: &str, file: Option<&Path>) -> Result<Option<String>, BrokerError> {
    let Some(path) = file else { return Ok(None) };
    let read = read_key_file(path, "the client secret of a connection", u64::MAX);
    let fail = |source| BrokerError::Secret { table: table.to_owned(), path: path.to_owned(), source };
    Ok(Some(read.map_err(fail)?.trim().to_owned()))
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The address to which the browser is sent, and the form that the token endpoint gets.
    fn of_issuer(keys: &str) -> (Url, String) {
        let text = format!(
            "issuer = 'https://a.example'\nresource = 'https://b.example/mcp'\nrequired-scopes = ['tools']\n{keys}\n[login]\nauthorize = 'https://a.example/authorize?audience=b'\ntoken = 'https://a.example/token'\nclient-id = 'pages'\n"
        );
        let oauth: OAuthSettings = toml::from_str(&text).unwrap();
        let client = OAuthClient::of_issuer(&oauth, oauth.login.as_ref().unwrap()).unwrap();
        let start = FlowStart { state: "s".into(), challenge: "c".into() };
        (client.authorize_url(&start, "https://b.example/oauth/login"), client.form(&[("code", "x")]))
    }

    #[test]
    fn the_resource_is_named_to_issuers_that_know_it() {
        let (url, form) = of_issuer("");
        let query = "audience=b&response_type=code&client_id=pages&redirect_uri=https%3A%2F%2Fb.example%2Foauth%2Flogin&scope=tools";
        let resource = "&resource=https%3A%2F%2Fb.example%2Fmcp";
        let rest = "&state=s&code_challenge=c&code_challenge_method=S256";
        assert_eq!(url.query(), Some(format!("{query}{resource}{rest}").as_str()));
        assert_eq!(form, format!("code=x&client_id=pages{resource}"));
        let (url, form) = of_issuer("audience = '6e74172b'");
        assert_eq!(url.query(), Some(format!("{query}{rest}").as_str()));
        assert_eq!(form, "code=x&client_id=pages");
    }
}
