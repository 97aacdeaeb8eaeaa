//! The HTML of the pages and the headers that protect them. There are no scripts.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use platform::telemetry::printable;
use platform::text::truncate_chars;
use services::connections::{ConnectPageError, ConnectPurpose, ConnectionSettings};
use url::Url;

/// The form that asks the user for consent; with `ask_key`, also for an API key.
pub(super) fn consent_form(id: &str, purpose: &ConnectPurpose, settings: &ConnectionSettings, ask_key: bool) -> String {
    let [name, plugin, principal] =
        [&purpose.connection, &purpose.plugin.to_string(), &purpose.principal.to_string()].map(|text| escape(text));
    let (provider, api) = (escape(settings.authorize.host()), escape(settings.api.host()));
    let scopes = match settings.scopes.as_slice() {
        [] => String::new(),
        scopes => format!("<p>It asks for these permissions: {}.</p>", escape(&scopes.join(", "))),
    };
    let key = match ask_key {
        true => format!(
            "<p><label>To show that you are <b>{principal}</b>, enter your API key: <input type=\"password\" name=\"key\" autocomplete=\"off\" required></label></p>"
        ),
        false => String::new(),
    };
    format!(
        "<h1>Connect {name}</h1>\
        <p>The plugin <b>{plugin}</b> asks to use your account <b>{name}</b>, on behalf of <b>{principal}</b>.</p>\
        <p>You will be sent to <b>{provider}</b> to agree. The plugin never sees your password or the credential: this host keeps it, and sends it to <b>{api}</b> only.</p>\
        {scopes}\
        <p>If you have not just asked for this yourself, close this page: somebody else would use your account.</p>\
        <form method=\"post\" action=\"connect\"><input type=\"hidden\" name=\"e\" value=\"{}\">{key}\
        <button>Continue to {provider}</button></form>",
        escape(id)
    )
}

pub(super) fn error_page(error: &ConnectPageError) -> Response {
    let (status, text) = match error {
        ConnectPageError::Unknown => {
            (StatusCode::NOT_FOUND, "This page was used already, or it has expired. Ask your client again.".to_owned())
        }
        ConnectPageError::OtherBrowser => (
            StatusCode::FORBIDDEN,
            "This page belongs to another user, or was opened in another browser. Ask your own client for one."
                .to_owned(),
        ),
        ConnectPageError::NoLogin => (
            StatusCode::FORBIDDEN,
            "This host cannot find out who you are, so no account is connected. Its operator has to say under <b>[server.auth.oauth.login]</b> how its users log in."
                .to_owned(),
        ),
        ConnectPageError::Declined(word) => {
            (StatusCode::BAD_REQUEST, format!("The service answered <b>{}</b>.", escape(truncate_chars(word, 64))))
        }
        ConnectPageError::Failed => (StatusCode::BAD_GATEWAY, "Something failed. The host's log says what.".to_owned()),
    };
    page(status, &format!("<h1>Not connected</h1><p>{text}</p>"), None)
}

pub(super) fn page(status: StatusCode, body: &str, continues_to: Option<&ConnectionSettings>) -> Response {
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>Portcullis</title></head><body>{body}</body></html>"
    );
    let mut response = protected_response(status, Body::from(html));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    // The page loads nothing and cannot be framed. Its form leads to this host, which redirects to the provider.
    let provider = continues_to.map(|settings| origin(settings.authorize.url())).unwrap_or_default();
    let policy = format!("default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' {provider}");
    if let Ok(policy) = HeaderValue::from_str(policy.trim_end()) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// A response that must not be cached, framed or linked to from other origins.
pub(super) fn protected_response(status: StatusCode, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        // With `no-referrer`, browsers would send no Origin with the form either.
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

/// Escapes text for use between tags or quotes.
pub(super) fn escape(text: &str) -> String {
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
    fn text_is_escaped() {
        assert_eq!(escape("<a href=\"x\">&'\u{202e}"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\\u{202e}");
    }
}
