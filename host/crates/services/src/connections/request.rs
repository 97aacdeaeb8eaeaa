//! What a plugin may send and what it gets back: paths that stay below the base address, headers that are its business,
//! sizes that end, and answers without the credential in them. A service that hands out its own credential in some coding
//! cannot be found out here; those that repeat what they are sent can.

use platform::outbound::header::{HeaderMap, HeaderName, HeaderValue};
use platform::outbound::{Method, Told};
use runtime::imports::{ConnectionRequest, ConnectionResponse};
use url::Url;

/// A request's body. The guest has it in memory already; this bounds what is sent elsewhere in the user's name.
pub(super) const MAX_REQUEST: usize = 1 << 20;
/// A response's body, held by the host until the guest has it.
pub(super) const MAX_RESPONSE: usize = 4 << 20;
/// Path and query.
const MAX_PATH: usize = 8 << 10;
/// Headers, by number and by bytes together.
const MAX_HEADERS: usize = 64;
const MAX_HEADER_BYTES: usize = 16 << 10;
/// How often a path may be encoded upon itself before it is no honest path.
const MAX_ENCODED: usize = 4;

/// Headers that are the connection's or the host's business. `accept-encoding` and ranges too: what comes compressed or
/// in pieces cannot be searched for the credential.
const REFUSED: &[&str] = &[
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
/// Beginnings and parts of such headers.
const REFUSED_BEGINNINGS: &[&str] = &["proxy-", "sec-", "x-forwarded-", "x-http-method", "x-method-"];
const REFUSED_PARTS: &[&str] = &["authorization", "cookie", "token", "api-key", "apikey", "secret", "password"];

/// Headers of responses that are not passed on: the connection's own, and credentials.
const KEPT: &[&str] =
    &["connection", "keep-alive", "transfer-encoding", "upgrade", "trailer", "te", "content-encoding", "alt-svc"];

/// A request that may be sent, still without its credential.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Checks a request; the error says what is wrong with it.
pub(super) fn check(base: &Url, request: ConnectionRequest) -> Result<Checked, String> {
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
    Ok(Checked { method, url: join(base, &request.path)?, headers: headers(&request.headers)?, body: request.body })
}

/// The URL of a path below the base address. Whatever could be read as leading out of it is refused, not repaired: by us,
/// by a proxy on the way or by the server itself.
fn join(base: &Url, path: &str) -> Result<Url, String> {
    let refuse = |why: &str| Err(format!("the path {why}"));
    if path.len() > MAX_PATH {
        return refuse("is too long");
    }
    if path.bytes().any(|c| !c.is_ascii_graphic() || matches!(c, b'\\' | b'#' | b'"' | b'<' | b'>' | b'^' | b'`')) {
        return refuse("has characters that must be percent-encoded, or a fragment");
    }
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let path = path.strip_prefix('/').unwrap_or(path);
    let mut pieces: Vec<&str> = path.split('/').collect();
    // One slash at the end is a folder's.
    if pieces.len() > 1 && pieces.last() == Some(&"") {
        pieces.pop();
    }
    if path.starts_with('/') || (!path.is_empty() && pieces.contains(&"")) {
        return refuse("has an empty piece: `//` means another host to some");
    }
    for piece in pieces {
        honest(piece).map_err(|why| format!("the path {why}"))?;
    }
    let mut url = base.clone();
    let root = base.path().trim_end_matches('/');
    url.set_path(&format!("{root}/{path}"));
    url.set_query(query);
    let inside = url.origin() == base.origin()
        && url.username().is_empty()
        && url.password().is_none()
        && url.path().strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
    if inside { Ok(url) } else { refuse("leads out of the connection's base address") }
}

/// Whether a piece of a path is a plain name, however often somebody decodes it.
fn honest(piece: &str) -> Result<(), &'static str> {
    let mut text = piece.as_bytes().to_vec();
    for _ in 0..MAX_ENCODED {
        for part in text.split(|c| matches!(c, b'/' | b'\\')) {
            // Some servers take what is after a semicolon away first.
            let name = part.split(|c| *c == b';').next().unwrap_or_default();
            if name == b"." || name == b".." {
                return Err("has a `.` or `..` in it");
            }
        }
        if text.iter().any(u8::is_ascii_control) {
            return Err("has a control character in it");
        }
        if !text.contains(&b'%') {
            return Ok(());
        }
        match decoded(&text) {
            Some(more) => text = more,
            // A percent sign that encodes nothing: in the piece itself a mistake, further in just a percent sign.
            None if text == piece.as_bytes() => return Err("has a `%` that encodes nothing"),
            None => return Ok(()),
        }
    }
    Err("is encoded upon itself too often")
}

fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if byte == b'%' {
            let digits = std::str::from_utf8(text.get(at + 1..at + 3)?).ok()?;
            if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return None;
            }
            plain.push(u8::from_str_radix(digits, 16).ok()?);
            at += 3;
        } else {
            plain.push(byte);
            at += 1;
        }
    }
    Some(plain)
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
        let name = parsed.map_err(|_| format!("{:?} is no name of a header", platform::telemetry::printable(name)))?;
        if refused(name.as_str()) {
            return Err(format!("the header `{name}` is not for plugins to set"));
        }
        let value =
            HeaderValue::from_str(value).map_err(|_| format!("the value of the header `{name}` is not valid"))?;
        headers.append(name, value);
    }
    headers.insert("accept-encoding", HeaderValue::from_static("identity"));
    Ok(headers)
}

fn refused(name: &str) -> bool {
    REFUSED.contains(&name)
        || REFUSED_BEGINNINGS.iter().any(|start| name.starts_with(start))
        || REFUSED_PARTS.iter().any(|part| name.contains(part))
}

/// The response as the guest may see it, or why it may not.
pub(super) fn pass_on(told: Told, secrets: &[&str]) -> Result<ConnectionResponse, String> {
    let Told { status, headers, body } = told;
    if headers.get("content-encoding").is_some_and(|encoding| encoding != "identity") {
        return Err("the answer is compressed, although that was not asked for".into());
    }
    let holds = |text: &[u8]| secrets.iter().any(|secret| contains(text, secret.as_bytes()));
    if holds(&body) || headers.iter().any(|(name, value)| holds(name.as_str().as_bytes()) || holds(value.as_bytes())) {
        return Err("the answer holds the account's credential, so it is kept from the plugin".into());
    }
    let shown = headers.iter().filter(|(name, _)| {
        !KEPT.contains(&name.as_str()) && !REFUSED_PARTS.iter().any(|part| name.as_str().contains(part))
    });
    let headers =
        shown.filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))).collect();
    Ok(ConnectionResponse { status, headers, body })
}

/// Whether `text` holds `part`, in any case: some servers change the case of what they repeat.
fn contains(text: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && text.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

#[cfg(test)]
mod tests;
