//! The pages on which users connect accounts: `/connect` and `/oauth/callback`. Plain HTML without any script.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use platform::identity::Authenticator;
use platform::telemetry::printable;
use policy::Principal;
use services::connections::{Broker, CALLBACK, CONNECT, ConnectionSettings, NotConnected, Purpose};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use url::Url;
use url::form_urlencoded::parse;

/// The form has an id and perhaps a credential.
const MAX_FORM: usize = 16 << 10;
/// Of 43 characters each; what is longer was not made here.
const MAX_FIELD: usize = 128;

#[derive(Clone)]
struct Pages {
    broker: Arc<Broker>,
    authenticator: Option<Arc<Authenticator>>,
}

/// The routes.
pub(super) fn routes(broker: Arc<Broker>, authenticator: Option<Arc<Authenticator>>) -> Router {
    Router::new()
        .route(CONNECT, get(show).post(go_on))
        .route(CALLBACK, get(come_back))
        .with_state(Pages { broker, authenticator })
}

/// The address at which browsers reach this host, if the operator has not said another: the one that is listened on.
pub(super) fn settle(broker: &Broker, bound: SocketAddr) -> Url {
    let own = if bound.ip().is_unspecified() { format!("localhost:{}", bound.port()) } else { bound.to_string() };
    match Url::parse(&format!("http://{own}/")) {
        Ok(url) => {
            broker.set_public(url.clone());
            broker.public().cloned().unwrap_or(url)
        }
        Err(_) => unreachable!("a socket's address is the authority of a URL"),
    }
}

/// Serves the pages alone, on a free port of the loopback: beside stdio, until `stop` is cancelled.
pub async fn serve_pages(broker: Arc<Broker>, stop: CancellationToken) -> std::io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let bound = listener.local_addr()?;
    settle(&broker, bound);
    // Against DNS rebinding: a name that leads here is not ours.
    let own = move |request: Request, next: Next| async move {
        let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
        let ours = host.is_some_and(|host| {
            [bound.to_string(), format!("localhost:{}", bound.port())].iter().any(|own| own == host)
        });
        if ours { next.run(request).await } else { sorry(&NotConnected::Foreign) }
    };
    let router = routes(broker, None).layer(from_fn(own));
    tracing::info!("pages for connecting accounts are on http://{bound}");
    tokio::spawn(async move {
        let serving = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned());
        if let Err(error) = serving.await {
            tracing::error!(%error, "pages for connecting accounts are not served any more");
        }
    });
    Ok(())
}

async fn show(State(pages): State<Pages>, request: Request) -> Response {
    let cookie = match pages.cookie(request.headers()) {
        Some(cookie) => cookie,
        None => match pages.broker.new_cookie() {
            Ok(cookie) => cookie,
            Err(_) => return sorry(&NotConnected::Failed),
        },
    };
    let id = field(request.uri().query().unwrap_or_default().as_bytes(), "e");
    let (purpose, settings) = match pages.broker.look(&id, &cookie) {
        Ok(found) => found,
        Err(error) => return sorry(&error),
    };
    let shown = request.extensions().get::<Principal>();
    if shown.is_some_and(|shown| *shown != purpose.principal) {
        return sorry(&NotConnected::Foreign);
    }
    let ask_key = shown.is_none() && pages.asks_for_key(&purpose.principal);
    let mut response = page(StatusCode::OK, &question(&id, &purpose, settings, ask_key), Some(settings));
    if let Ok(value) = HeaderValue::from_str(&pages.set_cookie(&cookie)) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    response
}

async fn go_on(State(pages): State<Pages>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    // A page of another site cannot send our cookie (SameSite), and says where it comes from.
    let public = pages.broker.public().map(|url| url.origin().ascii_serialization());
    let mut origins = parts.headers.get_all(header::ORIGIN).iter();
    if origins.any(|origin| origin.to_str().ok() != public.as_deref()) {
        return sorry(&NotConnected::Foreign);
    }
    let Some(cookie) = pages.cookie(&parts.headers) else { return sorry(&NotConnected::Foreign) };
    let Ok(form) = to_bytes(body, MAX_FORM).await else { return sorry(&NotConnected::Unknown) };
    let id = field(&form, "e");
    let purpose = match pages.broker.look(&id, &cookie) {
        Ok((purpose, _)) => purpose,
        Err(error) => return sorry(&error),
    };
    let shown = match parts.extensions.get::<Principal>() {
        Some(shown) => Some(shown.clone()),
        None => match &pages.authenticator {
            Some(authenticator) if pages.asks_for_key(&purpose.principal) => {
                let key = parse(&form).find(|(name, _)| name == "key").map(|(_, key)| format!("Bearer {}", key.trim()));
                match authenticator.check(key.as_deref()).await {
                    Ok(principal) => Some(principal),
                    Err(_) => return sorry(&NotConnected::Foreign),
                }
            }
            _ => None,
        },
    };
    if shown.is_some_and(|shown| shown != purpose.principal) {
        return sorry(&NotConnected::Foreign);
    }
    match pages.broker.start(&id, &cookie) {
        Ok(url) => {
            let mut response = plain(StatusCode::SEE_OTHER, Body::empty());
            if let Ok(location) = HeaderValue::from_str(url.as_str()) {
                response.headers_mut().insert(header::LOCATION, location);
            }
            response
        }
        Err(error) => sorry(&error),
    }
}

async fn come_back(State(pages): State<Pages>, request: Request) -> Response {
    let Some(cookie) = pages.cookie(request.headers()) else { return sorry(&NotConnected::Foreign) };
    let query = request.uri().query().unwrap_or_default().as_bytes();
    let state = field(query, "state");
    let purpose = match pages.broker.of_state(&state, &cookie) {
        Ok(purpose) => purpose,
        Err(error) => return sorry(&error),
    };
    if request.extensions().get::<Principal>().is_some_and(|shown| *shown != purpose.principal) {
        return sorry(&NotConnected::Foreign);
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
            let name = escaped(&purpose.connection);
            let text =
                format!("<h1>Connected</h1><p>The account <b>{name}</b> is connected. You can close this page.</p>");
            page(StatusCode::OK, &text, None)
        }
        Err(error) => sorry(&error),
    }
}

impl Pages {
    fn is_https(&self) -> bool {
        self.broker.public().is_some_and(|url| url.scheme() == "https")
    }

    fn cookie_name(&self) -> &'static str {
        // Browsers accept the prefix only for what comes over https for this very host.
        if self.is_https() { "__Host-portcullis-connect" } else { "portcullis-connect" }
    }

    /// The browser's cookie, if it is one that could be ours.
    fn cookie(&self, headers: &HeaderMap) -> Option<String> {
        let all = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let (_, value) = pairs.find(|(name, _)| *name == self.cookie_name())?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        (value.len() == 43 && value.chars().all(plain)).then(|| value.to_owned())
    }

    fn set_cookie(&self, value: &str) -> String {
        let (name, age) = (self.cookie_name(), self.broker.lifetime().as_secs());
        let secure = if self.is_https() { "; Secure" } else { "" };
        // Lax: it must come back with the browser that the provider sends here, and with no form of another site.
        format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax{secure}")
    }

    /// Whether a browser that shows nothing has to show this principal's API key. People do not have their OAuth tokens
    /// at hand, so those who came by one are only named.
    fn asks_for_key(&self, principal: &Principal) -> bool {
        self.authenticator.is_some() && principal.as_str().starts_with("key:")
    }
}

/// One value of a form or query, empty when there is none of a usable length.
fn field(form: &[u8], name: &str) -> String {
    let found = parse(form).find(|(key, value)| key == name && value.len() <= MAX_FIELD);
    found.map(|(_, value)| value.into_owned()).unwrap_or_default()
}

fn question(id: &str, purpose: &Purpose, settings: &ConnectionSettings, ask_key: bool) -> String {
    let [name, plugin, who] =
        [&purpose.connection, &purpose.plugin.to_string(), &purpose.principal.to_string()].map(|text| escaped(text));
    let (provider, api) = (escaped(settings.authorize.host()), escaped(settings.api.host()));
    let scopes = match settings.scopes.as_slice() {
        [] => String::new(),
        scopes => format!("<p>It will be asked for: {}.</p>", escaped(&scopes.join(", "))),
    };
    let key = match ask_key {
        true => format!(
            "<p><label>To show that you are <b>{who}</b>, your API key: <input type=\"password\" name=\"key\" autocomplete=\"off\" required></label></p>"
        ),
        false => String::new(),
    };
    format!(
        "<h1>Connect {name}</h1>\
        <p>The plugin <b>{plugin}</b> asks to use your account <b>{name}</b>, on behalf of <b>{who}</b>.</p>\
        <p>You will be sent to <b>{provider}</b> to agree. The plugin never sees your password or the credential: this host keeps it, and sends it to <b>{api}</b> only.</p>\
        {scopes}\
        <p>If you have not just asked for this yourself, close this page: somebody else would use your account.</p>\
        <form method=\"post\" action=\"connect\"><input type=\"hidden\" name=\"e\" value=\"{}\">{key}\
        <button>Continue to {provider}</button></form>",
        escaped(id)
    )
}

fn sorry(error: &NotConnected) -> Response {
    let (status, words) = match error {
        NotConnected::Unknown => (
            StatusCode::NOT_FOUND,
            "This page is over: it was used, or its time has passed. Ask your client again.".to_owned(),
        ),
        NotConnected::Foreign => (
            StatusCode::FORBIDDEN,
            "This page is somebody else's, or was begun in another browser. Ask your own client for one.".to_owned(),
        ),
        NotConnected::Refused(word) => (
            StatusCode::BAD_REQUEST,
            format!("Not connected: the service says <b>{}</b>.", escaped(&word.chars().take(64).collect::<String>())),
        ),
        NotConnected::Failed => {
            (StatusCode::BAD_GATEWAY, "Not connected: something failed. The host's log says what.".to_owned())
        }
    };
    page(status, &format!("<h1>Not connected</h1><p>{words}</p>"), None)
}

fn page(status: StatusCode, body: &str, leads_to: Option<&ConnectionSettings>) -> Response {
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>Portcullis</title></head><body>{body}</body></html>"
    );
    let mut response = plain(status, Body::from(html));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    // Nothing is loaded, nobody frames it, and the form leads here and from here to the provider.
    let provider = leads_to.map(|settings| origin(settings.authorize.url())).unwrap_or_default();
    let policy = format!("default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' {provider}");
    if let Ok(policy) = HeaderValue::from_str(policy.trim_end()) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// A response that nobody keeps, frames or tells others about.
fn plain(status: StatusCode, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        // Not `no-referrer`: browsers then hide where a form comes from, too.
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Text in HTML, between tags or quotes.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(escaped("<a href=\"x\">&'\u{202e}"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\\u{202e}");
        assert_eq!(field(b"e=a%20b&x=1&e=c", "e"), "a b");
        assert_eq!(field(format!("e={}", "x".repeat(MAX_FIELD + 1)).as_bytes(), "e"), "");
    }
}
