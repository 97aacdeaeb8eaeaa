//! Which redirects are followed, and as what.

use http::header::LOCATION;
use http::{Response, StatusCode};
use url::Url;

/// What an answer means for the request.
pub(super) enum Next {
    /// It is the answer, redirect or not: the guest may look at it.
    None,
    /// Ask there instead; whether that is allowed is decided anew.
    Follow { method: String, url: String, keeps_body: bool },
}

/// What to do about an answer to `method` from `origin`. Not followed is what would need a body again that was streamed
/// and is gone, and what changes between http and https.
pub(super) fn next<B>(response: &Response<B>, method: &str, origin: &Url, bodiless: bool) -> Next {
    let Some(location) = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()) else {
        return Next::None;
    };
    let repeats = match response.status() {
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => method != "POST",
        StatusCode::SEE_OTHER => matches!(method, "GET" | "HEAD"),
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        _ => return Next::None,
    };
    if repeats && !bodiless {
        return Next::None;
    }
    let Ok(url) = origin.join(location) else { return Next::None };
    if url.scheme() != origin.scheme() {
        return Next::None;
    }
    let method = if repeats { method.to_owned() } else { "GET".to_owned() };
    Next::Follow { method, url: url.into(), keeps_body: repeats }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(status: u16, method: &str, location: &str, bodiless: bool) -> Option<String> {
        let response = Response::builder().status(status).header("location", location).body(()).unwrap();
        match next(&response, method, &Url::parse("https://a.example/x/y").unwrap(), bodiless) {
            Next::None => None,
            Next::Follow { method, url, .. } => Some(format!("{method} {url}")),
        }
    }

    #[test]
    fn methods_and_bodies() {
        let to = |status, method, bodiless| follow(status, method, "../z", bodiless);
        assert_eq!(to(302, "GET", true).unwrap(), "GET https://a.example/z");
        assert_eq!(to(302, "POST", false).unwrap(), "GET https://a.example/z");
        assert_eq!(to(303, "PUT", false).unwrap(), "GET https://a.example/z");
        assert_eq!(to(303, "HEAD", true).unwrap(), "HEAD https://a.example/z");
        assert_eq!(to(307, "POST", true).unwrap(), "POST https://a.example/z");
        assert_eq!(to(308, "DELETE", true).unwrap(), "DELETE https://a.example/z");
        for (status, method, bodiless) in
            [(307, "POST", false), (301, "PUT", false), (200, "GET", true), (304, "GET", true), (300, "GET", true)]
        {
            assert_eq!(to(status, method, bodiless), None, "{status} {method}");
        }
    }

    #[test]
    fn the_scheme_stays() {
        assert_eq!(follow(302, "GET", "//b.example/q", true).unwrap(), "GET https://b.example/q");
        for location in ["http://a.example/", "file:///etc/passwd", "data:text/plain,x", "https://", "http://[::1"] {
            assert_eq!(follow(302, "GET", location, true), None, "{location}");
        }
    }
}
