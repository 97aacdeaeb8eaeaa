//! Users log in at the issuer of their tokens before they see a page, so that the host knows who is in front of it.
//!
//! This host is one more client of the issuer there: it gets an access token for itself, and whoever checks the tokens of
//! requests checks this one, too. So the same principal comes out, with any issuer that clients can use. An ID token
//! would not say that: some issuers give each client another `sub`. PKCE says that the code belongs to this login.

use super::broker::ConnectionBroker;
use super::error::{ConnectPageError, log_failure};
use super::oauth_client::FlowAnswer;
use policy::Principal;
use url::Url;

/// OAuth redirect path of logins. It is not that of connections: else a service that a user connects could have the
/// browser come back with a code of the issuer under its own `state`, and would be sent that code.
pub const LOGIN_PATH: &str = "/oauth/login";

/// Somebody has logged in. Who it is has to be read from the token.
pub struct LoggedIn {
    /// The page that the browser waits for.
    pub page: String,
    /// Whose page it is.
    pub principal: Principal,
    /// An access token. It is not kept.
    pub token: String,
}

impl ConnectionBroker {
    /// Whether users of an issuer can log in.
    pub fn has_login(&self) -> bool {
        self.login.is_some()
    }

    /// Begins a login for this page; returns where to send the browser.
    pub fn start_login(&self, id: &str, browser: &str) -> Result<Url, ConnectPageError> {
        let client = self.login.as_ref().ok_or(ConnectPageError::NoLogin)?;
        let started = self.pages.start_login(id, browser).map_err(|error| log_failure(&error))?;
        Ok(client.authorize_url(&started?, &self.address(LOGIN_PATH)?))
    }

    /// The issuer has sent the browser back. The login is over in any case.
    pub async fn finish_login(
        &self,
        state: &str,
        browser: &str,
        answer: FlowAnswer,
    ) -> Result<LoggedIn, ConnectPageError> {
        let client = self.login.as_ref().ok_or(ConnectPageError::NoLogin)?;
        let (page, purpose, verifier) = self.pages.finish_login(state, browser)?;
        let credential = self.redeem(client, answer, &verifier, LOGIN_PATH, &purpose).await?;
        Ok(LoggedIn { page, principal: purpose.principal, token: credential.access })
    }

    /// The browser has shown that its user is the page's principal: the page belongs to it. Returns the page's address.
    pub fn admit(&self, id: &str, browser: &str) -> Result<String, ConnectPageError> {
        self.pages.admit(id, browser)?;
        self.page_address(id)
    }
}
