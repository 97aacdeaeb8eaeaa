//! How a registry wants to be signed in to, and whom it may have us tell the credentials.

use crate::install::reference::{authority, is_loopback};
use platform::telemetry::printable;
use url::Url;

/// The longest value of a parameter.
const LONGEST: usize = 1_024;

/// A way to sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Challenge {
    /// With user and password, to the registry itself.
    Basic,
    /// With a token that somebody else gives.
    Bearer {
        /// Where.
        realm: String,
        /// For whom.
        service: Option<String>,
    },
}

impl Challenge {
    /// The best of what some `WWW-Authenticate` headers offer: a token goes no further than this registry and this
    /// repository, a password does.
    pub(super) fn best<'a>(headers: impl Iterator<Item = &'a str>) -> Option<Self> {
        let offered: Vec<_> = headers.flat_map(parse).collect();
        let bearer = offered.iter().find(|challenge| matches!(challenge, Self::Bearer { .. }));
        bearer.or_else(|| offered.first()).cloned()
    }
}

/// All challenges of one header that we know: `Scheme key="value", key=value, Scheme …`.
fn parse(header: &str) -> Vec<Challenge> {
    let mut found: Vec<(String, Vec<(String, String)>)> = Vec::new();
    for part in split(header) {
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
            if value.len() <= LONGEST && !value.contains(['"', '\\']) {
                parameters.push((name.trim().to_ascii_lowercase(), value.to_owned()));
            }
        }
    }
    let known = |(scheme, parameters): (String, Vec<(String, String)>)| {
        // A parameter that is there twice means two things; it means nothing then.
        let one = |name: &str| {
            let mut values = parameters.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone());
            values.next().filter(|_| values.next().is_none())
        };
        match scheme.as_str() {
            "basic" => Some(Challenge::Basic),
            "bearer" => Some(Challenge::Bearer { realm: one("realm")?, service: one("service") }),
            _ => None,
        }
    };
    found.into_iter().filter_map(known).collect()
}

/// Parts between commas that are in no quotes.
fn split(header: &str) -> Vec<&str> {
    let mut quoted = false;
    let apart = header.split(|c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    });
    apart.map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Where the credentials of `registry` may be exchanged for a token: at its own origin, or over https at a host that
/// `[sources]` names. A list of who owns which domains would age; a line of the configuration does not.
pub(super) fn realm(realm: &str, registry: &Url, named: &[String]) -> Result<Url, String> {
    let shown = printable(&realm.chars().take(200).collect::<String>()).into_owned();
    let url = Url::parse(realm).map_err(|_| format!("its realm `{shown}` is no address"))?;
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(format!("its realm `{shown}` holds a user, a password or a fragment"));
    }
    if url.origin() == registry.origin() && matches!(url.scheme(), "https" | "http") {
        return Ok(url);
    }
    let local = |url: &Url| url.host().is_some_and(|host| is_loopback(&host));
    if url.scheme() != "https" && !(url.scheme() == "http" && local(&url) && local(registry)) {
        return Err(format!("its realm `{shown}` is not https; nothing is told to it"));
    }
    let host = authority(&url);
    if named.contains(&host) {
        return Ok(url);
    }
    let (name, host) = (authority(registry), printable(&host).into_owned());
    Err(format!(
        "its realm `{shown}` is another host, which is told nothing; if it is right, write realms = [\"{host}\"] under [sources.\"{name}\"]"
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
    fn challenges_are_read() {
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
    fn credentials_go_to_the_registry_and_to_whom_the_operator_names() {
        let named = ["auth.example.com".to_owned(), "auth2.example.com:8443".to_owned()];
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
            (far, "token", Some("no address")),
            (far, "file:///etc/passwd", Some("not https")),
            (near, "http://127.0.0.1:5001/token", Some("another host")),
            (near, "http://169.254.169.254/token", Some("not https")),
        ] {
            match (realm(address, &Url::parse(registry).unwrap(), &named), words) {
                (Ok(url), None) => assert_eq!(url, Url::parse(address).unwrap()),
                (Err(error), Some(words)) => assert!(error.contains(words), "{address}: {error}"),
                (outcome, _) => panic!("{registry} {address}: {outcome:?}"),
            }
        }
    }
}
