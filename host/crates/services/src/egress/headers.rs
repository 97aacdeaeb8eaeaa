//! Request headers, and checks of response headers.

use super::secret_injection::has_placeholder;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, COOKIE, HOST, HeaderMap, HeaderName,
    HeaderValue, IF_RANGE, RANGE, USER_AGENT,
};
use runtime::imports::{HttpError, is_forbidden_header};
use url::Url;

/// Number of request headers and their total size in bytes. Bounds what is sent, and kept for redirects.
const MAX_HEADERS: usize = 100;
const MAX_BYTES: usize = 32 << 10;

/// Credentials, which are sent only to the origin that the guest named.
const CREDENTIALS: [HeaderName; 2] = [AUTHORIZATION, COOKIE];

/// The guest's headers, without those that guests may not set.
pub(super) fn check(headers: HeaderMap) -> Result<HeaderMap, HttpError> {
    let size: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if headers.len() > MAX_HEADERS || size > MAX_BYTES {
        return Err(HttpError::Header("*".into(), "they are more than 100 headers, or more than 32 KiB"));
    }
    let lengths: Vec<_> = headers.get_all(CONTENT_LENGTH).iter().collect();
    let number = |value: &&HeaderValue| !value.is_empty() && value.as_bytes().iter().all(u8::is_ascii_digit);
    if lengths.len() > 1 || !lengths.iter().all(number) {
        return Err(HttpError::Header(CONTENT_LENGTH.to_string(), "it must be one number"));
    }
    Ok(without(headers, is_forbidden_header))
}

/// The headers for the next hop of a redirect.
pub(super) fn for_redirect(headers: HeaderMap, same_origin: bool, keeps_body: bool) -> HeaderMap {
    let headers = without(headers, |name| !keeps_body && name.as_str().starts_with("content-"));
    if same_origin {
        return headers;
    }
    let secret = |value: &HeaderValue| has_placeholder(value);
    let with_secrets: Vec<_> =
        headers.iter().filter(|(_, value)| secret(value)).map(|(name, _)| name.clone()).collect();
    without(headers, |name| CREDENTIALS.contains(name) || with_secrets.contains(name))
}

/// The headers as sent, with the host's own. `searched` says that the response will be searched for secrets.
pub(super) fn outgoing(mut headers: HeaderMap, url: &Url, searched: bool) -> Result<HeaderMap, HttpError> {
    if searched {
        // A secret could not be found in a partial or compressed response.
        for name in [RANGE, IF_RANGE] {
            if headers.contains_key(&name) {
                return Err(HttpError::Header(
                    name.to_string(),
                    "it is not allowed in a request to a host that may have a secret",
                ));
            }
        }
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
    let host = HeaderValue::from_str(host).map_err(|_| HttpError::Header("host".into(), "it is not a host"))?;
    headers.insert(HOST, host);
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    let agent = HeaderValue::from_static(concat!("portcullis/", env!("CARGO_PKG_VERSION")));
    headers.entry(USER_AGENT).or_insert(agent);
    Ok(headers)
}

/// Checks that the response body can be searched.
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
