//! What an OAuth client is told: the metadata of RFC 9728, and challenges that lead to it.

use super::{OAuthSettings, Refusal};
use serde_json::json;
use url::Url;

/// Where the metadata is, before the resource's own path.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// This server as an OAuth protected resource.
pub struct ProtectedResource {
    metadata: String,
    url: String,
    paths: Vec<String>,
    scope: String,
}

impl ProtectedResource {
    pub(super) fn new(oauth: &OAuthSettings) -> Self {
        let metadata = json!({
            "resource": oauth.audience.as_str(),
            "authorization_servers": [oauth.issuer.as_str()],
            "bearer_methods_supported": ["header"],
            "scopes_supported": oauth.required_scopes,
            "resource_name": "Portcullis",
        });
        let own = oauth.audience.url().path().trim_end_matches('/');
        let mut url: Url = oauth.audience.url().clone();
        url.set_query(None);
        url.set_path(&format!("{WELL_KNOWN}{own}"));
        // Without the path too, for clients that look there first; and at our own path, when a proxy adds to it.
        let mut paths = vec![WELL_KNOWN.to_owned(), format!("{WELL_KNOWN}/mcp"), url.path().to_owned()];
        paths.dedup();
        Self { metadata: metadata.to_string(), url: url.into(), paths, scope: oauth.required_scopes.join(" ") }
    }

    /// The document that is served at this path, if any is.
    pub fn document(&self, path: &str) -> Option<&str> {
        self.paths.iter().any(|known| known == path).then_some(&self.metadata)
    }

    fn parameters(&self) -> String {
        let mut text = format!("resource_metadata=\"{}\"", self.url);
        if !self.scope.is_empty() {
            text.push_str(&format!(", scope=\"{}\"", self.scope));
        }
        text
    }
}

impl Refusal {
    /// The HTTP status it is answered with.
    pub fn status(&self) -> u16 {
        match self {
            Refusal::Missing | Refusal::Invalid(_) => 401,
            Refusal::Scope => 403,
            Refusal::Unavailable => 503,
        }
    }

    /// The `WWW-Authenticate` header it is answered with.
    pub fn challenge(&self, resource: Option<&ProtectedResource>) -> String {
        let parameters = resource.map(ProtectedResource::parameters);
        let error = match self {
            Refusal::Missing | Refusal::Unavailable => None,
            Refusal::Invalid(reason) => Some(format!("error=\"invalid_token\", error_description=\"{reason}\"")),
            Refusal::Scope => Some("error=\"insufficient_scope\"".to_owned()),
        };
        let all: Vec<String> = [error, parameters].into_iter().flatten().collect();
        if all.is_empty() { "Bearer realm=\"portcullis\"".to_owned() } else { format!("Bearer {}", all.join(", ")) }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Missing => f.write_str("this server wants to know who you are: send `Authorization: Bearer ...`"),
            Refusal::Invalid(reason) => write!(f, "the credential is not accepted: {reason}"),
            Refusal::Scope => f.write_str("the token lacks a scope that this server requires"),
            Refusal::Unavailable => f.write_str(
                "the token cannot be checked: the issuer's keys cannot be had at the moment; try again later",
            ),
        }
    }
}
