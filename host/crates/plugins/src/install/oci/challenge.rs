//! `WWW-Authenticate` challenges of registries, and the check of where credentials may be sent.

use crate::install::reference::{authority, is_loopback};
use platform::telemetry::printable;
use platform::text::truncate_chars;
use url::Url;

const MAX_PARAMETER_BYTES: usize = 1_024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Challenge {
    /// User and password for the registry itself.
    Basic,
    /// A token from a token server.
    Bearer { realm: String, service: Option<String> },
}

impl Challenge {
    /// The best challenge of some `WWW-Authenticate` headers. Bearer comes first: a token is limited to one repository,
    /// a password is not.
    pub(super) fn best<'a>(headers: impl Iterator<Item = &'a str>) -> Option<Self> {
        let offered: Vec<_> = headers.flat_map(parse).collect();
        let bearer = offered.iter().find(|challenge| matches!(challenge, Self::Bearer { .. }));
        bearer.or_else(|| offered.first()).cloned()
    }
}

/// The known challenges in one header: `Scheme key="value", key=value, Scheme …`.
fn parse(header: &str) -> Vec<Challenge> {
    let mut found: Vec<(String, Vec<(String, String)>)> = Vec::new();
    for part in split_parts(header) {
        let (first, rest) = part.split_once(' ').unwrap_or((part, ""));
        let parameter = match first.contains('=') {
            true => part,
            false => {
                found.push((first.to_ascii_lowercase(), vec![]));
                rest.trim()
            }
        };
        if let (Some((name, value)), Some((_, parameters))) = (parameter.split_once('='), found.last_mut()) {
            let value = value.trim();
            let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
            if value.len() <= MAX_PARAMETER_BYTES && !value.contains(['"', '\\']) {
                parameters.push((name.trim().to_ascii_lowercase(), value.to_owned()));
            }
        }
    }
    let known = |(scheme, parameters): (String, Vec<(String, String)>)| {
        // A repeated parameter is ambiguous and ignored.
        let unique = |name: &str| {
            let mut values = parameters.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone());
            values.next().filter(|_| values.next().is_none())
        };
        match scheme.as_str() {
            "basic" => Some(Challenge::Basic),
            "bearer" => Some(Challenge::Bearer { realm: unique("realm")?, service: unique("service") }),
            _ => None,
        }
    };
    found.into_iter().filter_map(known).collect()
}

/// Splits at the commas outside of quotes.
fn split_parts(header: &str) -> Vec<&str> {
    let mut quoted = false;
    let parts = header.split(|c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Checks that a realm may receive the credentials of `registry`: it is at the same origin, or an https URL at one of the
/// `allowed` hosts of `[sources]`. There is no built-in list of token servers, because it would become outdated.
pub(super) fn check_realm(realm: &str, registry: &Url, allowed: &[String]) -> Result<Url, String> {
    let shown = printable(truncate_chars(realm, 200)).into_owned();
    let url = Url::parse(realm).map_err(|_| format!("its realm `{shown}` is not a URL"))?;
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(format!("its realm `{shown}` contains a user, a password or a fragment"));
    }
    if url.origin() == registry.origin() && matches!(url.scheme(), "https" | "http") {
        return Ok(url);
    }
    let on_loopback = |url: &Url| url.host().is_some_and(|host| is_loopback(&host));
    if url.scheme() != "https" && !(url.scheme() == "http" && on_loopback(&url) && on_loopback(registry)) {
        return Err(format!("its realm `{shown}` is not https; credentials are not sent to it"));
    }
    let host = authority(&url);
    if allowed.contains(&host) {
        return Ok(url);
    }
    let (name, host) = (authority(registry), printable(&host).into_owned());
    Err(format!(
        "its realm `{shown}` is another host, which gets no credentials; if it is right, set realms = [\"{host}\"] under [sources.\"{name}\"]"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(header: &str) -> Option<Challenge> {
        Challenge::best([header].into_iter())
    }

    fn bearer(realm: &str, service: Option<&str>) -> Option<Challenge> {
        Some(Challenge::Bearer { realm: realm.into(), service: service.map(str::to_owned) })
    }

    #[test]
    fn challenges_are_parsed() {
        let realm = "https://r.example/token";
        for (header, expected) in [
            ("Basic realm=\"x\"", Some(Challenge::Basic)),
            ("basic", Some(Challenge::Basic)),
            ("BASIC realm=x, charset=\"UTF-8\"", Some(Challenge::Basic)),
            ("Bearer realm=\"https://r.example/token\"", bearer(realm, None)),
            (
                "Bearer realm=\"https://r.example/token\",service=\"s\",scope=\"a:b:pull,push\"",
                bearer(realm, Some("s")),
            ),
            ("bearer service=s , realm=https://r.example/token", bearer(realm, Some("s"))),
            ("Basic realm=\"a, b\", Bearer realm=\"https://r.example/token\"", bearer(realm, None)),
            ("Negotiate, Basic realm=\"x\"", Some(Challenge::Basic)),
            ("Bearer service=\"s\"", None),
            ("Bearer realm=\"a\",realm=\"b\"", None),
            ("Bearer realm=\"a\\\"b\"", None),
            ("Digest realm=\"x\", nonce=\"y\"", None),
            ("", None),
            (",,,=", None),
            ("\"", None),
        ] {
            assert_eq!(best(header), expected, "{header}");
        }
        let long = format!("Bearer realm=\"https://{}\"", "a".repeat(2_000));
        assert_eq!(best(&long), None);
        assert_eq!(Challenge::best(["Basic realm=x", "Bearer realm=y"].into_iter()), bearer("y", None));
    }

    #[test]
    fn credentials_go_only_to_the_registry_and_configured_realms() {
        let allowed = ["auth.example.com".to_owned(), "auth2.example.com:8443".to_owned()];
        let (far, near) = ("https://registry.example.com/v2/", "http://127.0.0.1:5000/v2/");
        for (registry, address, words) in [
            (far, "https://registry.example.com/token", None),
            (far, "https://registry.example.com:443/token", None),
            (far, "https://auth.example.com/token?x=y", None),
            (far, "https://auth2.example.com:8443/token", None),
            (near, "http://127.0.0.1:5000/token", None),
            (near, "https://auth.example.com/token", None),
            (far, "http://registry.example.com/token", Some("not https")),
            (far, "http://auth.example.com/token", Some("not https")),
            (far, "http://127.0.0.1/token", Some("not https")),
            (far, "https://registry.example.com:8443/token", Some("another host")),
            (far, "https://auth2.example.com/token", Some("another host")),
            (far, "https://evil.example/token", Some("realms = [\"evil.example\"]")),
            (far, "https://registry.example.com.evil.example/", Some("another host")),
            (far, "https://169.254.169.254/token", Some("another host")),
            (far, "https://a:b@registry.example.com/token", Some("a password")),
            (far, "https://auth.example.com/#x", Some("a fragment")),
            (far, "token", Some("not a URL")),
            (far, "file:///etc/passwd", Some("not https")),
            (near, "http://127.0.0.1:5001/token", Some("another host")),
            (near, "http://169.254.169.254/token", Some("not https")),
        ] {
            match (check_realm(address, &Url::parse(registry).unwrap(), &allowed), words) {
                (Ok(url), None) => assert_eq!(url, Url::parse(address).unwrap()),
                (Err(error), Some(words)) => assert!(error.contains(words), "{address}: {error}"),
                (outcome, _) => panic!("{registry} {address}: {outcome:?}"),
            }
        }
    }
}
