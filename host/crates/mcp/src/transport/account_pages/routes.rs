//! The handlers of the pages.

use super::html::{consent_form, error_page, escape, page, protected_response};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use platform::identity::Authenticator;
use policy::{Principal, is_name};
use services::connections::{CALLBACK_PATH, CONNECT_PATH, ConnectPageError, ConnectionBroker};
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

pub(in crate::transport) fn routes(broker: Arc<ConnectionBroker>, authenticator: Option<Arc<Authenticator>>) -> Router {
    Router::new()
        .route(CONNECT_PATH, get(show_form).post(submit_form))
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
    let (purpose, settings) = match pages.broker.page(&id, &cookie) {
        Ok(found) => found,
        Err(error) => return error_page(&error),
    };
    let authenticated = request.extensions().get::<Principal>();
    if authenticated.is_some_and(|it| *it != purpose.principal) {
        return error_page(&ConnectPageError::OtherBrowser);
    }
    let ask_key = authenticated.is_none() && pages.asks_for_key(&purpose.principal);
    let mut response = page(StatusCode::OK, &consent_form(&id, &purpose, settings, ask_key), Some(settings));
    if let Ok(value) = HeaderValue::from_str(&pages.set_cookie(&cookie)) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    response
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
    let id = field(&form, "e");
    let purpose = match pages.broker.page(&id, &cookie) {
        Ok((purpose, _)) => purpose,
        Err(error) => return error_page(&error),
    };
    let authenticated = match parts.extensions.get::<Principal>() {
        Some(principal) => Some(principal.clone()),
        None => match &pages.authenticator {
            Some(authenticator) if pages.asks_for_key(&purpose.principal) => {
                let key = parse(&form).find(|(name, _)| name == "key").map(|(_, key)| format!("Bearer {}", key.trim()));
                match authenticator.check(key.as_deref()).await {
                    Ok(principal) => Some(principal),
                    Err(_) => return error_page(&ConnectPageError::OtherBrowser),
                }
            }
            _ => None,
        },
    };
    if authenticated.is_some_and(|it| it != purpose.principal) {
        return error_page(&ConnectPageError::OtherBrowser);
    }
    match pages.broker.start(&id, &cookie) {
        Ok(url) => {
            let mut response = protected_response(StatusCode::SEE_OTHER, Body::empty());
            if let Ok(location) = HeaderValue::from_str(url.as_str()) {
                response.headers_mut().insert(header::LOCATION, location);
            }
            response
        }
        Err(error) => error_page(&error),
    }
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
    let value = |name: &str| parse(query).find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    let (code, error, issuer) = (value("code"), value("error"), value("iss"));
    let answer = match (&code, &error) {
        (Some(code), None) => Ok(code.as_str()),
        (_, Some(error)) => Err(error.as_str()),
        (None, None) => Err("no code"),
    };
    match pages.broker.finish(&state, &cookie, issuer.as_deref(), answer).await {
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

    /// Whether a browser without a credential must enter the principal's API key. Users who authenticate with OAuth are
    /// not asked, because people do not know their tokens.
    fn asks_for_key(&self, principal: &Principal) -> bool {
        self.authenticator.is_some() && principal.as_str().starts_with("key:")
    }
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
