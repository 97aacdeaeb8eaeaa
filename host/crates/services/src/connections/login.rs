//! Users log in at the issuer of their tokens before they see a page, so that the host knows who is in front of it.
//!
//! For a login, this host is one more client of the issuer. It gets an access token for itself, and the check is the same as
//! for the tokens of requests. So the login gives the same principal, with any issuer that clients can use. An ID token would
//! not guarantee that, because some issuers give each client another `sub`. PKCE ensures that the code belongs to this login.

use super::broker::ConnectionBroker;
use super::error::{ConnectPageError, log_failure};
use super::oauth_client::FlowAnswer;
use policy::Principal;
use url::Url;

/// OAuth redirect path of logins. It differs from that of connections. Otherwise a service that a user connects could make the
/// browser come back with a code of the issuer under the service's own `state`, and the host would send that code to the
/// service.
pub const LOGIN_PATH: &str = "/oauth/login";

/// A finished login. The caller has to find out from the token who has logged in.
pub struct LoggedIn {
    /// The page that the browser waits for.
    pub page: String,
    /// The principal that the page was made for.
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

    /// Ends the login when the issuer has sent the browser back. The login is over whatever the answer is.
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

    /// Gives the page to the browser, whose user has proved to be the page's principal. Returns the page's address.
    pub fn admit(&self, id: &str, browser: &str) -> Result<String, ConnectPageError> {
        self.pages.admit(id, browser)?;
        self.page_address(id)
    }
}
