//! What token endpoints return: credentials.

use policy::is_name;
use serde::{Deserialize, Serialize};

/// A shorter token could not be told from other text in a response; a longer one does not fit a header.
const TOKEN_LENGTH: std::ops::RangeInclusive<usize> = 8..=8192;
/// Seconds before expiry at which a token is renewed: it must still be valid when it arrives.
const RENEW_EARLY: u64 = 30;
/// Longest lifetime in seconds, a century: later expiry is lowered to this.
const MAX_SECONDS: u64 = 100 * 366 * 24 * 60 * 60;

/// An account's credential. No `Debug`: it must not get into a log.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Credential {
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    /// Seconds since 1970; `None`: no expiry.
    expires: Option<u64>,
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: Option<String>,
    token_type: Option<String>,
    refresh_token: Option<String>,
    expires_in: Option<f64>,
    error: Option<String>,
}

#[derive(Debug)]
pub(super) enum CredentialError {
    /// The service refused: the code or the refresh token is not valid (any more).
    Refused(String),
    /// No usable response.
    Failed(String),
    /// Milliseconds.
    Timeout(u64),
}

impl Credential {
    /// Whether it must be renewed before use.
    pub(super) fn needs_renewal(&self, now: u64) -> bool {
        self.expires.is_some_and(|end| end <= now.saturating_add(RENEW_EARLY))
    }

    /// Values that must not occur in a response to a guest.
    pub(super) fn secrets(&self) -> Vec<&str> {
        [Some(self.access.as_str()), self.refresh.as_deref()].into_iter().flatten().collect()
    }
}

/// The credential in the response of a token endpoint. A response may contain a token whatever its status, so only the code
/// in `error` is repeated.
pub(super) fn read_response(status: u16, body: &[u8], now: u64) -> Result<Credential, CredentialError> {
    let answer: Option<TokenResponse> = serde_json::from_slice(body).ok();
    match answer {
        Some(TokenResponse { error: Some(error), .. }) => Err(CredentialError::Refused(error_code(&error))),
        Some(answer) if status == 200 => accept(answer, now).map_err(CredentialError::Failed),
        _ if matches!(status, 400 | 401) => Err(CredentialError::Refused(format!("status {status}"))),
        _ => Err(CredentialError::Failed(format!("the token endpoint answered {status} without a token"))),
    }
}

fn accept(answer: TokenResponse, now: u64) -> Result<Credential, String> {
    let fit = |token: &String| TOKEN_LENGTH.contains(&token.len()) && token.bytes().all(|c| c.is_ascii_graphic());
    let access = answer.access_token.filter(fit).ok_or("the token endpoint returned no usable access token")?;
    if !answer.token_type.is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err("the token endpoint returned a token that is not a Bearer token".into());
    }
    let refresh = answer.refresh_token.filter(fit);
    let expires = answer.expires_in.map(|seconds| now.saturating_add((seconds.max(0.0) as u64).min(MAX_SECONDS)));
    Ok(Credential { access, refresh, expires })
}

/// An OAuth error code, if it has the form that the standard allows.
fn error_code(text: &str) -> String {
    if text.is_empty() || is_name(text, 64, "_") { text.to_owned() } else { "an error".to_owned() }
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
        assert!(!good.needs_renewal(1_029) && good.needs_renewal(1_030) && good.refresh.is_none());
        let lasting =
            answer(r#"{"access_token":"12345678","token_type":"Bearer","refresh_token":"87654321"}"#).ok().unwrap();
        assert!(!lasting.needs_renewal(u64::MAX));
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
