//! The handlers of the account pages.

use super::html::{consent_form, error_page, escape, page, protected_response};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use platform::identity::{AuthError, Authenticator};
use policy::{Principal, is_name};
use services::connections::{
    CALLBACK_PATH, CONNECT_PATH, ConnectPageError, ConnectionBroker, FlowAnswer, LOGIN_PATH, OpenPage,
};
use std::sync::Arc;
use url::form_urlencoded::parse;

/// Bytes of a form, which has an id and perhaps an API key.
const MAX_FORM: usize = 16 << 10;
/// Bytes of an id. Those of this host have 43.
const MAX_FIELD: usize = 128;

#[derive(Clone)]
struct Pages {
    broker: Arc<ConnectionBroker>,
    authenticator: Option<Arc<Authenticator>>,
}

/// How the user proves to be the page's principal.
enum Proof {
    /// A credential in the request or an earlier login, or nothing if there is only one principal.
    Given,
    /// The principal's API key, in the form.
    Key,
    /// A login at the issuer of the principal's tokens.
    Login,
}

pub(in crate::transport) fn routes(broker: Arc<ConnectionBroker>, authenticator: Option<Arc<Authenticator>>) -> Router {
    Router::new()
        .route(CONNECT_PATH, get(show_form).post(submit_form))
        .route(LOGIN_PATH, get(finish_login))
        .route(CALLBACK_PATH, get(finish))
        .with_state(Pages { broker, authenticator })
}

async fn show_form(State(pages): State<Pages>, request: Request) -> Response {
    let cookie = match pages.cookie(request.headers()) {
        Some(cookie) => cookie,
        None => match pages.broker.new_cookie() {
            Ok(cookie) => cookie,
            Err(_) => return error_page(&ConnectPageError::Failed),
        },
    };
    let id = field(request.uri().query().unwrap_or_default().as_bytes(), "e");
    let shown = pages.broker.page(&id, &cookie).and_then(|opened| {
        let OpenPage { purpose, settings, .. } = &opened;
        let form = |key| page(StatusCode::OK, &consent_form(&id, purpose, settings, key), Some(settings));
        Ok(match pages.proof(request.extensions().get(), &opened)? {
            Proof::Given => form(false),
            Proof::Key => form(true),
            // Before the login, the visitor sees nothing of the page.
            Proof::Login => redirect(pages.broker.start_login(&id, &cookie)?.as_str()),
        })
    });
    match shown {
        Ok(mut response) => {
            if let Ok(value) = HeaderValue::from_str(&pages.set_cookie(&cookie)) {
                response.headers_mut().insert(header::SET_COOKIE, value);
            }
            response
        }
        Err(error) => error_page(&error),
    }
}

async fn submit_form(State(pages): State<Pages>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    // A page of another site does not send the cookie (SameSite), and its Origin header differs.
    let public = pages.broker.public().map(|url| url.origin().ascii_serialization());
    let mut origins = parts.headers.get_all(header::ORIGIN).iter();
    if origins.any(|origin| origin.to_str().ok() != public.as_deref()) {
        return error_page(&ConnectPageError::OtherBrowser);
    }
    let Some(cookie) = pages.cookie(&parts.headers) else { return error_page(&ConnectPageError::OtherBrowser) };
    let Ok(form) = to_bytes(body, MAX_FORM).await else { return error_page(&ConnectPageError::Unknown) };
    let started = pages.start(&form, &cookie, parts.extensions.get()).await;
    started.map_or_else(|error| error_page(&error), |url| redirect(&url))
}

async fn finish_login(State(pages): State<Pages>, request: Request) -> Response {
    let Some(cookie) = pages.cookie(request.headers()) else { return error_page(&ConnectPageError::OtherBrowser) };
    let query = request.uri().query().unwrap_or_default().as_bytes();
    let finished = pages.log_in(query, &cookie).await;
    finished.map_or_else(|error| error_page(&error), |url| redirect(&url))
}

async fn finish(State(pages): State<Pages>, request: Request) -> Response {
    let Some(cookie) = pages.cookie(request.headers()) else { return error_page(&ConnectPageError::OtherBrowser) };
    let query = request.uri().query().unwrap_or_default().as_bytes();
    let state = field(query, "state");
    let purpose = match pages.broker.find_flow(&state, &cookie) {
        Ok(purpose) => purpose,
        Err(error) => return error_page(&error),
    };
    if request.extensions().get::<Principal>().is_some_and(|it| *it != purpose.principal) {
        return error_page(&ConnectPageError::OtherBrowser);
    }
    match pages.broker.finish(&state, &cookie, answer(query)).await {
        Ok(purpose) => {
            let name = escape(&purpose.connection);
            let text =
                format!("<h1>Connected</h1><p>The account <b>{name}</b> is connected. You can close this page.</p>");
            page(StatusCode::OK, &text, None)
        }
        Err(error) => error_page(&error),
    }
}

impl Pages {
    /// The proof that is still needed. `authenticated` is the principal of the credential in the request.
    fn proof(&self, authenticated: Option<&Principal>, page: &OpenPage<'_>) -> Result<Proof, ConnectPageError> {
        let principal = &page.purpose.principal;
        if let Some(authenticated) = authenticated {
            return if authenticated == principal { Ok(Proof::Given) } else { Err(ConnectPageError::OtherBrowser) };
        }
        if self.authenticator.is_none() {
            return Ok(Proof::Given);
        }
        match principal.as_str().split_once(':') {
            Some(("key", _)) => Ok(Proof::Key),
            Some(("oauth", _)) if page.is_owned => Ok(Proof::Given),
            Some(("oauth", _)) if self.broker.has_login() => Ok(Proof::Login),
            _ => Err(ConnectPageError::NoLogin),
        }
    }

    /// The user continues: checks the proof in the form, and returns where to send the browser.
    async fn start(
        &self,
        form: &[u8],
        cookie: &str,
        authenticated: Option<&Principal>,
    ) -> Result<String, ConnectPageError> {
        let id = field(form, "e");
        let opened = self.broker.page(&id, cookie)?;
        match self.proof(authenticated, &opened)? {
            Proof::Given => {}
            Proof::Key => {
                let key = parse(form).find(|(name, _)| name == "key").map(|(_, key)| key.trim().to_owned());
                match self.check(&key.unwrap_or_default()).await {
                    Ok(principal) if principal == opened.purpose.principal => {}
                    Ok(_) | Err(_) => return Err(ConnectPageError::OtherBrowser),
                }
            }
            // The page is shown only after the login.
            Proof::Login => return Err(ConnectPageError::OtherBrowser),
        }
        Ok(self.broker.start(&id, cookie)?.into())
    }

    /// The issuer has sent the browser back: if the page's principal has logged in, returns the page's address.
    async fn log_in(&self, query: &[u8], cookie: &str) -> Result<String, ConnectPageError> {
        let login = self.broker.finish_login(&field(query, "state"), cookie, answer(query)).await?;
        let expected = &login.principal;
        match self.check(&login.token).await {
            Ok(principal) if principal == *expected => self.broker.admit(&login.page, cookie),
            Ok(principal) => {
                tracing::warn!(%expected, %principal, "somebody else has opened the page for connecting an account");
                Err(ConnectPageError::OtherBrowser)
            }
            Err(error) => {
                tracing::warn!(%expected, "a login to connect an account shows nobody: {error}");
                Err(ConnectPageError::Failed)
            }
        }
    }

    /// The principal of this credential, checked exactly as for a request.
    async fn check(&self, credential: &str) -> Result<Principal, AuthError> {
        match &self.authenticator {
            Some(authenticator) => authenticator.check(Some(&format!("Bearer {credential}"))).await,
            None => Err(AuthError::Missing),
        }
    }

    fn is_https(&self) -> bool {
        self.broker.public().is_some_and(|url| url.scheme() == "https")
    }

    fn cookie_name(&self) -> &'static str {
        // Browsers accept this prefix only over https and for exactly this host.
        if self.is_https() { "__Host-portcullis-connect" } else { "portcullis-connect" }
    }

    /// The browser's cookie, if it has the form of this host's cookies.
    fn cookie(&self, headers: &HeaderMap) -> Option<String> {
        let all = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = pairs.find(|(name, _)| *name == self.cookie_name())?;
        (value.len() == 43 && is_name(value, 43, "-_")).then(|| value.to_owned())
    }

    fn set_cookie(&self, value: &str) -> String {
        let (name, age) = (self.cookie_name(), self.broker.lifetime().as_secs());
        let secure = if self.is_https() { "; Secure" } else { "" };
        // Lax: the browser must send it when the provider redirects here, but not with a form of another site.
        format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax{secure}")
    }
}

/// The response of a provider or issuer, in the query with which it has sent the browser back.
fn answer(query: &[u8]) -> FlowAnswer {
    let value = |name: &str| parse(query).find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    let code = match (value("code"), value("error")) {
        (Some(code), None) => Ok(code),
        (_, Some(error)) => Err(error),
        (None, None) => Err("no code".to_owned()),
    };
    FlowAnswer { issuer: value("iss"), code }
}

fn redirect(to: &str) -> Response {
    let mut response = protected_response(StatusCode::SEE_OTHER, Body::empty());
    if let Ok(location) = HeaderValue::from_str(to) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// The first value of a form or query under a name; empty if there is none or it is too long.
fn field(form: &[u8], name: &str) -> String {
    let found = parse(form).find(|(key, value)| key == name && value.len() <= MAX_FIELD);
    found.map(|(_, value)| value.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_decoded_and_limited() {
        assert_eq!(field(b"e=a%20b&x=1&e=c", "e"), "a b");
        assert_eq!(field(format!("e={}", "x".repeat(MAX_FIELD + 1)).as_bytes(), "e"), "");
    }
}
