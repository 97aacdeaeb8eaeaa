//! Replaces `{{secret:NAME}}` in header values, just before a request is sent.

use http::header::{HeaderMap, HeaderValue};
use platform::secrets::Secret;
use runtime::imports::HttpError;
use std::sync::Arc;
use zeroize::Zeroizing;

const OPEN: &str = "{{secret:";
const CLOSE: &str = "}}";

pub(super) fn has_placeholder(value: &HeaderValue) -> bool {
    memchr::memmem::find(value.as_bytes(), OPEN.as_bytes()).is_some()
}

/// The secrets that headers name, for a host that sends nothing.
pub fn named_secrets(headers: &HeaderMap) -> Vec<String> {
    let texts = headers.values().filter_map(|value| value.to_str().ok());
    let names = texts.flat_map(|text| text.split(OPEN).skip(1).filter_map(|rest| rest.split_once(CLOSE)));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// Replaces the placeholders; `reveal` authorizes and returns each secret.
pub(super) fn inject(
    mut headers: HeaderMap,
    mut reveal: impl FnMut(&str) -> Result<Arc<Secret>, HttpError>,
) -> Result<HeaderMap, HttpError> {
    let mut secrets: Vec<Arc<Secret>> = Vec::new();
    for (name, value) in headers.iter_mut().filter(|(_, value)| has_placeholder(value)) {
        let fail = |why| HttpError::Header(name.to_string(), why);
        let text = value.to_str().map_err(|_| fail("it names a secret, and is not ASCII"))?;
        let (mut filled, mut rest) = (Zeroizing::new(String::new()), text);
        while let Some((before, after)) = rest.split_once(OPEN) {
            let (secret, after) = after.split_once(CLOSE).ok_or_else(|| fail("a secret's name has no closing `}}`"))?;
            let secret = match secrets.iter().find(|known| known.name() == secret) {
                Some(known) => known.clone(),
                None => {
                    let revealed = reveal(secret)?;
                    secrets.push(revealed.clone());
                    revealed
                }
            };
            filled.push_str(before);
            filled.push_str(secret.reveal());
            rest = after;
        }
        filled.push_str(rest);
        let mut real = HeaderValue::from_str(&filled).map_err(|_| fail("it cannot be sent with the secret in it"))?;
        // Keeps the value out of debug output.
        real.set_sensitive(true);
        *value = real;
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(name: &str) -> Result<Arc<Secret>, HttpError> {
        Ok(Arc::new(Secret::new(name, Zeroizing::new(format!("value-of-{name}"))).unwrap()))
    }

    fn filled(value: &str) -> Result<String, HttpError> {
        let headers = HeaderMap::from_iter([(http::header::AUTHORIZATION, HeaderValue::from_str(value).unwrap())]);
        let headers = inject(headers, secret)?;
        Ok(headers["authorization"].to_str().unwrap().to_owned())
    }

    #[test]
    fn placeholders_become_secrets() {
        assert_eq!(filled("Bearer {{secret:a}}").unwrap(), "Bearer value-of-a");
        assert_eq!(filled("{{secret:a}}{{secret:b}} {{secret:a}}").unwrap(), "value-of-avalue-of-b value-of-a");
        assert_eq!(filled("{{other:a}}").unwrap(), "{{other:a}}");
        assert!(filled("{{secret:a").is_err());
    }

    #[test]
    fn named_secrets_are_those_that_would_be_sent() {
        let value = HeaderValue::from_static("{{secret:a}}:{{secret:b}} {{other:c}} {{secret:d");
        assert_eq!(named_secrets(&HeaderMap::from_iter([(http::header::COOKIE, value)])), ["a", "b"]);
    }

    #[test]
    fn a_denied_secret_fails_the_request() {
        let headers = HeaderMap::from_iter([(http::header::COOKIE, HeaderValue::from_static("x={{secret:a}}"))]);
        assert_eq!(inject(headers, |_| Err(HttpError::Denied)).err(), Some(HttpError::Denied));
    }

    #[test]
    fn inserted_secrets_are_not_printed() {
        let headers = HeaderMap::from_iter([(http::header::COOKIE, HeaderValue::from_static("x={{secret:a}}"))]);
        assert!(!format!("{:?}{:?}", inject(headers, secret).unwrap(), secret("a")).contains("value-of"));
    }
}
