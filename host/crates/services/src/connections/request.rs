//! Checks of requests and responses: paths stay below the base address, headers and sizes are limited, and responses
//! must not contain the credential. A service that returns its credential in an encoded form is not detected; one that
//! echoes requests is.

use platform::outbound::header::{HeaderMap, HeaderName, HeaderValue};
use platform::outbound::{Method, OutboundResponse};
use policy::RequestPath;
use runtime::imports::{ConnectionRequest, ConnectionResponse};
use url::Url;

/// Size of a request body in bytes. Bounds what is sent in the user's name.
pub(super) const MAX_REQUEST: usize = 1 << 20;
/// Size of a response body in bytes, which the host holds until the guest has it.
pub(super) const MAX_RESPONSE: usize = 4 << 20;
const MAX_PATH: usize = 8 << 10;
/// Number of headers, and their total size in bytes.
const MAX_HEADERS: usize = 64;
const MAX_HEADER_BYTES: usize = 16 << 10;

/// Headers that only the connection or the host sets. Includes `accept-encoding` and ranges: compressed or partial
/// responses cannot be searched for the credential.
const FORBIDDEN_HEADERS: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "if-range",
    "keep-alive",
    "origin",
    "range",
    "referer",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-real-ip",
];
/// Prefixes and parts of such headers.
const FORBIDDEN_PREFIXES: &[&str] = &["proxy-", "sec-", "x-forwarded-", "x-http-method", "x-method-"];
const FORBIDDEN_PARTS: &[&str] = &["authorization", "cookie", "token", "api-key", "apikey", "secret", "password"];

/// Response headers that are not passed on.
const HIDDEN_RESPONSE_HEADERS: &[&str] =
    &["connection", "keep-alive", "transfer-encoding", "upgrade", "trailer", "te", "content-encoding", "alt-svc"];

/// A checked request without its credential.
#[derive(Debug)]
pub(super) struct CheckedRequest {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Checks a request; the error is a sentence.
pub(super) fn check(base: &Url, request: ConnectionRequest) -> Result<CheckedRequest, String> {
    let method = match request.method.as_str() {
        "GET" => Method::GET,
        "POST" => Method::POST,
        "PUT" => Method::PUT,
        "PATCH" => Method::PATCH,
        "DELETE" => Method::DELETE,
        _ => return Err("the method must be GET, POST, PUT, PATCH or DELETE".into()),
    };
    if request.body.len() > MAX_REQUEST {
        return Err(format!("the body is larger than {MAX_REQUEST} bytes"));
    }
    Ok(CheckedRequest {
        method,
        url: join(base, &request.path)?,
        headers: headers(&request.headers)?,
        body: request.body,
    })
}

/// The URL of a path below the base address. Anything that we, a proxy or the server could read as leading out of it is
/// refused, not normalised.
fn join(base: &Url, path: &str) -> Result<Url, String> {
    let refuse = |why: &str| Err(format!("the path {why}"));
    if path.len() > MAX_PATH {
        return refuse("is too long");
    }
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let path = path.strip_prefix('/').unwrap_or(path);
    // One trailing slash is allowed.
    let names = path.strip_suffix('/').unwrap_or(path);
    if path.starts_with('/') || (!names.is_empty() && names.split('/').any(str::is_empty)) {
        return refuse("has an empty piece: `//` means another host to some");
    }
    let folder = format!("{}/", base.path().trim_end_matches('/'));
    let path = RequestPath::new(format!("{folder}{path}"));
    path.check().map_err(|why| format!("the path {why}"))?;
    if query.is_some_and(|query| query.bytes().any(|c| !c.is_ascii_graphic() || c == b'#')) {
        return refuse("has a query with characters that must be percent-encoded, or a fragment");
    }
    let mut url = base.clone();
    url.set_path(path.as_str());
    url.set_query(query);
    let inside = url.origin() == base.origin()
        && url.username().is_empty()
        && url.password().is_none()
        && RequestPath::new(url.path()).is_below(&folder);
    if inside { Ok(url) } else { refuse("leads out of the connection's base address") }
}

fn headers(given: &[(String, String)]) -> Result<HeaderMap, String> {
    let bytes: usize = given.iter().map(|(name, value)| name.len() + value.len()).sum();
    if given.len() > MAX_HEADERS || bytes > MAX_HEADER_BYTES {
        return Err(format!(
            "there are more than {MAX_HEADERS} headers, or more than {MAX_HEADER_BYTES} bytes of them"
        ));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let parsed = HeaderName::from_bytes(name.as_bytes());
        let name = parsed.map_err(|_| format!("{:?} is not a header name", platform::telemetry::printable(name)))?;
        if is_forbidden(name.as_str()) {
            return Err(format!("the header `{name}` may not be set by plugins"));
        }
        let value =
            HeaderValue::from_str(value).map_err(|_| format!("the value of the header `{name}` is not valid"))?;
        headers.append(name, value);
    }
    headers.insert("accept-encoding", HeaderValue::from_static("identity"));
    Ok(headers)
}

fn is_forbidden(name: &str) -> bool {
    FORBIDDEN_HEADERS.contains(&name)
        || FORBIDDEN_PREFIXES.iter().any(|start| name.starts_with(start))
        || FORBIDDEN_PARTS.iter().any(|part| name.contains(part))
}

/// The response for the guest, or why it is withheld.
pub(super) fn filter_response(response: OutboundResponse, secrets: &[&str]) -> Result<ConnectionResponse, String> {
    let OutboundResponse { status, headers, body } = response;
    if headers.get("content-encoding").is_some_and(|encoding| encoding != "identity") {
        return Err("the answer is compressed, although compression was not requested".into());
    }
    let holds = |text: &[u8]| secrets.iter().any(|secret| contains(text, secret.as_bytes()));
    if holds(&body) || headers.iter().any(|(name, value)| holds(name.as_str().as_bytes()) || holds(value.as_bytes())) {
        return Err("the answer contains the account's credential, so the plugin does not get it".into());
    }
    let shown = headers.iter().filter(|(name, _)| {
        !HIDDEN_RESPONSE_HEADERS.contains(&name.as_str())
            && !FORBIDDEN_PARTS.iter().any(|part| name.as_str().contains(part))
    });
    let headers =
        shown.filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))).collect();
    Ok(ConnectionResponse { status, headers, body })
}

/// Whether `text` contains `part`, ignoring case: some servers change the case of what they echo.
fn contains(text: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && text.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

#[cfg(test)]
mod tests;
