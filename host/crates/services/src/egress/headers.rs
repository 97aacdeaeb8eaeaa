//! Headers on their way out, and what must be true of an answer's.

use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, COOKIE, HOST, HeaderMap, HeaderName,
    HeaderValue, IF_RANGE, RANGE, USER_AGENT,
};
use runtime::imports::{HttpError, is_ours};
use url::Url;

/// A request's headers, by number and by bytes. Bounds what is sent in one piece, and kept for redirects.
const MAX_HEADERS: usize = 100;
const MAX_BYTES: usize = 32 << 10;

/// What says who somebody is. It is for the origin that the guest named and for nobody else.
const CREDENTIALS: [HeaderName; 2] = [AUTHORIZATION, COOKIE];

/// The guest's own headers, without those that are not its to set.
pub(super) fn checked(headers: HeaderMap) -> Result<HeaderMap, HttpError> {
    let size: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if headers.len() > MAX_HEADERS || size > MAX_BYTES {
        return Err(HttpError::Header("*".into(), "they are more than 100 headers, or more than 32 KiB"));
    }
    let lengths: Vec<_> = headers.get_all(CONTENT_LENGTH).iter().collect();
    let number = |value: &&HeaderValue| !value.is_empty() && value.as_bytes().iter().all(u8::is_ascii_digit);
    if lengths.len() > 1 || !lengths.iter().all(number) {
        return Err(HttpError::Header(CONTENT_LENGTH.to_string(), "it must be one number"));
    }
    Ok(without(headers, is_ours))
}

/// For the next hop of a redirect.
pub(super) fn of_redirect(headers: HeaderMap, same_origin: bool, keeps_body: bool) -> HeaderMap {
    let headers = without(headers, |name| !keeps_body && name.as_str().starts_with("content-"));
    if same_origin {
        return headers;
    }
    let secret = |value: &HeaderValue| super::inject::has_placeholder(value);
    let told: Vec<_> = headers.iter().filter(|(_, value)| secret(value)).map(|(name, _)| name.clone()).collect();
    without(headers, |name| CREDENTIALS.contains(name) || told.contains(name))
}

/// As they are sent: with those that are ours. `searched` says that the answer will be searched for a secret.
pub(super) fn sent(mut headers: HeaderMap, url: &Url, searched: bool) -> Result<HeaderMap, HttpError> {
    if searched {
        // A secret that comes back in pieces, or compressed, could not be found.
        for name in [RANGE, IF_RANGE] {
            if headers.contains_key(&name) {
                return Err(HttpError::Header(name.to_string(), "a request with a secret is answered whole"));
            }
        }
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
    let host = HeaderValue::from_str(host).map_err(|_| HttpError::Header("host".into(), "it is no host"))?;
    headers.insert(HOST, host);
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    let agent = HeaderValue::from_static(concat!("portcullis/", env!("CARGO_PKG_VERSION")));
    headers.entry(USER_AGENT).or_insert(agent);
    Ok(headers)
}

/// Whether the body of this answer can be searched.
pub(super) fn searchable(headers: &HeaderMap) -> Result<(), HttpError> {
    let plain = |value: &&HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    match headers.get_all(CONTENT_ENCODING).iter().find(|value| !plain(value)) {
        None => Ok(()),
        Some(coding) => Err(HttpError::Compressed(String::from_utf8_lossy(coding.as_bytes()).into_owned())),
    }
}

fn without(headers: HeaderMap, unwanted: impl Fn(&HeaderName) -> bool) -> HeaderMap {
    let names: Vec<_> = headers.keys().filter(|name| unwanted(name)).cloned().collect();
    let mut headers = headers;
    for name in names {
        headers.remove(name);
    }
    headers
}
