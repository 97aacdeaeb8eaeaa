//! The protected resource metadata of RFC 9728.

use super::settings::OAuthSettings;
use serde_json::json;
use url::Url;

/// The well-known path, which precedes the resource's own path.
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
            "resource": oauth.resource.as_str(),
            "authorization_servers": [oauth.issuer.as_str()],
            "bearer_methods_supported": ["header"],
            "scopes_supported": oauth.required_scopes,
            "resource_name": "Portcullis",
        });
        let own = oauth.resource.url().path().trim_end_matches('/');
        let mut url: Url = oauth.resource.url().clone();
        url.set_query(None);
        url.set_path(&format!("{WELL_KNOWN}{own}"));
        // The document is also served at the path without the resource's own path, for clients that try that first, and with
        // our own path, in case a proxy adds a prefix.
        let mut paths = vec![WELL_KNOWN.to_owned(), format!("{WELL_KNOWN}/mcp"), url.path().to_owned()];
        paths.dedup();
        Self { metadata: metadata.to_string(), url: url.into(), paths, scope: oauth.required_scopes.join(" ") }
    }

    /// The document that is served at this path, if any is.
    pub fn document(&self, path: &str) -> Option<&str> {
        self.paths.iter().any(|known| known == path).then_some(&self.metadata)
    }

    /// The parameters of a challenge that tell the client where the metadata is.
    pub(super) fn parameters(&self) -> String {
        let mut text = format!("resource_metadata=\"{}\"", self.url);
        if !self.scope.is_empty() {
            text.push_str(&format!(", scope=\"{}\"", self.scope));
        }
        text
    }
}
