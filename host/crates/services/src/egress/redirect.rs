//! Which redirects are followed, and with which method.

use super::secret_mask::SecretMask;
use http::header::LOCATION;
use http::{Response, StatusCode};
use url::Url;

pub(super) enum RedirectAction {
    /// The response goes to the guest, even if it is a redirect.
    None,
    /// Follow the redirect; the new target must be authorized again.
    Follow { method: String, url: String, keeps_body: bool },
}

/// Decides about a response to `method` from `origin`. Three kinds are not followed: redirects that would repeat a streamed
/// body, which is gone, redirects between http and https, and redirects whose URL contains a secret. Such a URL would be sent
/// to a host that may not have the secret, and would be logged.
pub(super) fn next<B>(
    response: &Response<B>,
    method: &str,
    origin: &Url,
    has_no_body: bool,
    mask: Option<&SecretMask>,
) -> RedirectAction {
    let Some(location) = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()) else {
        return RedirectAction::None;
    };
    if mask.is_some_and(|mask| mask.finds(location.as_bytes())) {
        return RedirectAction::None;
    }
    let repeats = match response.status() {
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => method != "POST",
        StatusCode::SEE_OTHER => matches!(method, "GET" | "HEAD"),
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        _ => return RedirectAction::None,
    };
    if repeats && !has_no_body {
        return RedirectAction::None;
    }
    let Ok(url) = origin.join(location) else { return RedirectAction::None };
    if url.scheme() != origin.scheme() {
        return RedirectAction::None;
    }
    let method = if repeats { method.to_owned() } else { "GET".to_owned() };
    RedirectAction::Follow { method, url: url.into(), keeps_body: repeats }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(status: u16, method: &str, location: &str, has_no_body: bool) -> Option<String> {
        let response = Response::builder().status(status).header("location", location).body(()).unwrap();
        match next(&response, method, &Url::parse("https://a.example/x/y").unwrap(), has_no_body, None) {
            RedirectAction::None => None,
            RedirectAction::Follow { method, url, .. } => Some(format!("{method} {url}")),
        }
    }

    #[test]
    fn methods_and_bodies() {
        let to = |status, method, has_no_body| follow(status, method, "../z", has_no_body);
        assert_eq!(to(302, "GET", true).unwrap(), "GET https://a.example/z");
        assert_eq!(to(302, "POST", false).unwrap(), "GET https://a.example/z");
        assert_eq!(to(303, "PUT", false).unwrap(), "GET https://a.example/z");
        assert_eq!(to(303, "HEAD", true).unwrap(), "HEAD https://a.example/z");
        assert_eq!(to(307, "POST", true).unwrap(), "POST https://a.example/z");
        assert_eq!(to(308, "DELETE", true).unwrap(), "DELETE https://a.example/z");
        for (status, method, has_no_body) in
            [(307, "POST", false), (301, "PUT", false), (200, "GET", true), (304, "GET", true), (300, "GET", true)]
        {
            assert_eq!(to(status, method, has_no_body), None, "{status} {method}");
        }
    }

    #[test]
    fn redirects_keep_the_scheme() {
        assert_eq!(follow(302, "GET", "//b.example/q", true).unwrap(), "GET https://b.example/q");
        for location in ["http://a.example/", "file:///etc/passwd", "data:text/plain,x", "https://", "http://[::1"] {
            assert_eq!(follow(302, "GET", location, true), None, "{location}");
        }
    }
}
