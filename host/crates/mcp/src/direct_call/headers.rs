//! Checks the headers of a request that could be served directly. A header that the ordinary way would examine more closely
//! makes it an ordinary request.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use rmcp::model::ProtocolVersion;

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The two forms in which every known client says that it accepts JSON and events.
const ACCEPTED: [&[u8]; 2] = [b"application/json, text/event-stream", b"text/event-stream, application/json"];
/// The prefix of an encoded name, which is not plain text.
const ENCODED: &[u8] = b"=?";

/// Whether these are the headers of a plain `tools/call` of 2026-07-28.
pub(super) fn are_plain(headers: &HeaderMap) -> bool {
    let is = |name: &HeaderName, value: &[u8]| only(headers, name).is_some_and(|it| it.as_bytes() == value);
    is(&header::CONTENT_TYPE, b"application/json")
        && only(headers, &header::ACCEPT).is_some_and(|accept| ACCEPTED.contains(&accept.as_bytes()))
        && is(&PROTOCOL_VERSION, ProtocolVersion::V_2026_07_28.as_str().as_bytes())
        && is(&METHOD, b"tools/call")
        && !headers.contains_key(SESSION)
}

/// Whether `Mcp-Name` is the name in the body.
pub(super) fn name_is(headers: &HeaderMap, name: &str) -> bool {
    only(headers, &NAME)
        .is_some_and(|value| value.as_bytes() == name.as_bytes() && !name.as_bytes().starts_with(ENCODED))
        && name.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The value of a header, if it occurs exactly once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: [(&str, &str); 5] = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "a__b"),
    ];

    fn headers(values: impl IntoIterator<Item = (&'static str, &'static str)>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in values {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn only_the_plain_headers_are_recognized() {
        assert!(are_plain(&headers(PLAIN)) && name_is(&headers(PLAIN), "a__b"));
        for left_out in &PLAIN[..4] {
            let without = PLAIN.into_iter().filter(|header| header != left_out);
            assert!(!are_plain(&headers(without)), "without {left_out:?}");
            assert!(!are_plain(&headers(PLAIN.into_iter().chain([*left_out]))), "twice {left_out:?}");
        }
        assert!(!are_plain(&headers(PLAIN.into_iter().chain([("mcp-session-id", "s")]))));
        for (name, value) in [
            ("content-type", "application/json; charset=utf-8"),
            ("accept", "*/*"),
            ("mcp-protocol-version", "2025-11-25"),
        ] {
            let changed = PLAIN.map(|(known, plain)| (known, if known == name { value } else { plain }));
            assert!(!are_plain(&headers(changed)), "{name}: {value}");
        }
        assert!(!name_is(&headers(PLAIN), "a__c") && !name_is(&headers(PLAIN.into_iter().chain([PLAIN[4]])), "a__b"));
        assert!(!name_is(&headers([("mcp-name", "=?base64?YQ==?=")]), "=?base64?YQ==?="));
    }
}
