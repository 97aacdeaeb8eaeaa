//! Credentials: what a token endpoint gives, and what is kept of it.

use platform::outbound::{Ask, AskError, Method, Outbound, header};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use url::form_urlencoded::Serializer;

use super::settings::ConnectionSettings;

/// One request to a token endpoint.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Its answer. Real ones are below some kilobytes.
const MAX_ANSWER: usize = 64 << 10;
/// A token shorter than this could not be told from other text in an answer; a longer one is no header.
const TOKEN_LENGTH: std::ops::RangeInclusive<usize> = 8..=8192;
/// A token is renewed so long before its end, in seconds: it has to arrive while it is good.
const EARLY: u64 = 30;
/// A token that ends later than this many seconds ends then: a century is for ever.
const MAX_SECONDS: u64 = 100 * 366 * 24 * 60 * 60;

/// An account's credential. It has no `Debug`: it must not get into a log.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Credential {
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    /// Seconds since 1970; none: until further notice.
    expires: Option<u64>,
}

#[derive(Deserialize)]
struct Answer {
    access_token: Option<String>,
    token_type: Option<String>,
    refresh_token: Option<String>,
    expires_in: Option<f64>,
    error: Option<String>,
}

/// Why there is no credential.
#[derive(Debug)]
pub(super) enum NoCredential {
    /// The service says no: the code or the refresh token is not good (any more).
    Refused(String),
    /// It could not be asked, or its answer is none.
    Failed(String),
    /// Milliseconds.
    Timeout(u64),
}

impl Credential {
    /// Whether it should be renewed before use.
    pub(super) fn is_old(&self, now: u64) -> bool {
        self.expires.is_some_and(|end| end <= now.saturating_add(EARLY))
    }

    /// What must not be in any answer that a guest sees.
    pub(super) fn secrets(&self) -> Vec<&str> {
        [Some(self.access.as_str()), self.refresh.as_deref()].into_iter().flatten().collect()
    }
}

/// Asks a connection's token endpoint; `fields` are those of the grant.
pub(super) async fn obtain(
    outbound: &Outbound,
    settings: &ConnectionSettings,
    secret: Option<&str>,
    fields: &[(&str, &str)],
    now: u64,
) -> Result<Credential, NoCredential> {
    let mut headers = header::HeaderMap::new();
    let form_type = header::HeaderValue::from_static("application/x-www-form-urlencoded");
    headers.insert(header::CONTENT_TYPE, form_type);
    headers.insert(header::ACCEPT, header::HeaderValue::from_static("application/json"));
    let ask = Ask {
        method: Method::POST,
        url: settings.token.url().clone(),
        headers,
        body: form(settings, secret, fields).into_bytes(),
        timeout: TIMEOUT,
        max_body: MAX_ANSWER,
    };
    let told = outbound.ask(ask).await.map_err(|error| match error {
        AskError::Timeout(_, after) => NoCredential::Timeout(millis(after)),
        AskError::TooLarge(..) | AskError::Unreachable(..) => NoCredential::Failed(error.to_string()),
    })?;
    // An answer may hold a token whatever its status: none of it is repeated, but for the word in `error`.
    let answer: Option<Answer> = serde_json::from_slice(&told.body).ok();
    match answer {
        Some(Answer { error: Some(error), .. }) => Err(NoCredential::Refused(word(&error))),
        Some(answer) if told.status == 200 => accept(answer, now).map_err(NoCredential::Failed),
        _ if matches!(told.status, 400 | 401) => Err(NoCredential::Refused(format!("status {}", told.status))),
        _ => Err(NoCredential::Failed(format!("the token endpoint answers {} and no token", told.status))),
    }
}

fn form(settings: &ConnectionSettings, secret: Option<&str>, fields: &[(&str, &str)]) -> String {
    let mut form = Serializer::new(String::new());
    form.extend_pairs(fields).append_pair("client_id", &settings.client_id);
    if let Some(secret) = secret {
        form.append_pair("client_secret", secret);
    }
    form.finish()
}

fn accept(answer: Answer, now: u64) -> Result<Credential, String> {
    let fit = |token: &String| TOKEN_LENGTH.contains(&token.len()) && token.bytes().all(|c| c.is_ascii_graphic());
    let access = answer.access_token.filter(fit).ok_or("the token endpoint gives no usable access token")?;
    if !answer.token_type.is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err("the token endpoint gives another kind of token than Bearer".into());
    }
    let refresh = answer.refresh_token.filter(fit);
    let expires = answer.expires_in.map(|seconds| now.saturating_add((seconds.max(0.0) as u64).min(MAX_SECONDS)));
    Ok(Credential { access, refresh, expires })
}

/// An error's code, of which the standard allows little; anything else is not repeated.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if text.len() <= 64 && text.chars().all(plain) { text.to_owned() } else { "an error".to_owned() }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Result<Credential, String> {
        accept(serde_json::from_str(text).unwrap(), 1_000)
    }

    #[test]
    fn only_usable_tokens() {
        let good = answer(r#"{"access_token":"12345678","token_type":"bearer","expires_in":60.9}"#).ok().unwrap();
        assert!(!good.is_old(1_029) && good.is_old(1_030) && good.refresh.is_none());
        let lasting =
            answer(r#"{"access_token":"12345678","token_type":"Bearer","refresh_token":"87654321"}"#).ok().unwrap();
        assert!(!lasting.is_old(u64::MAX));
        assert_eq!(lasting.secrets(), ["12345678", "87654321"]);
        for end in ["1e300", "-5"] {
            assert!(
                answer(&format!(r#"{{"access_token":"12345678","token_type":"bearer","expires_in":{end}}}"#)).is_ok()
            );
        }
        for bad in [
            r#"{"access_token":"1234567","token_type":"bearer"}"#,
            r#"{"access_token":"1234567 8","token_type":"bearer"}"#,
            r#"{"access_token":"12345678\r\nx: y","token_type":"bearer"}"#,
            r#"{"access_token":"12345678","token_type":"mac"}"#,
            r#"{"access_token":"12345678"}"#,
            r#"{"token_type":"bearer"}"#,
        ] {
            assert!(answer(bad).is_err(), "{bad}");
        }
    }
}
