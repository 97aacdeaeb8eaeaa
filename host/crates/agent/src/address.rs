//! A page's address for the user's review: the whole address, its host, and warnings. Nothing here opens or fetches it.

use platform::telemetry::printable;
use url::{Host, Url};

/// An address in three parts, which together are the whole address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageAddress {
    /// Such as `https://`.
    pub before: String,
    /// The host as it is looked up, with `xn--` labels.
    pub host: String,
    /// Port, path, query and fragment.
    pub after: String,
    pub warnings: Vec<String>,
}

/// An address that must not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the address {address:?} {reason}")]
pub struct PageAddressError {
    address: String,
    reason: &'static str,
}

impl PageAddress {
    pub fn parse(address: &str) -> Result<Self, PageAddressError> {
        let fail = |reason| PageAddressError { address: printable(address).into_owned(), reason };
        let url = Url::parse(address).map_err(|_| fail("is not a URL"))?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err(fail("is not a web page: only https: and http: are opened"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(fail("has a user name before the host, which is how pages pretend to be others"));
        }
        let host = url.host_str().ok_or_else(|| fail("has no host"))?.to_owned();
        // Shows the parsed address, as a browser opens it. The server's spelling may look different.
        let whole = url.as_str();
        let (before, after) = whole.split_once(&host).ok_or_else(|| fail("has no host"))?;
        let mut warnings = Vec::new();
        let loopback = matches!(host.as_str(), "localhost" | "127.0.0.1" | "[::1]");
        if url.scheme() == "http" && !loopback {
            warnings.push("the page is not encrypted (http:): others can read and change it".to_owned());
        }
        match url.host() {
            Some(Host::Domain(domain)) => warnings.extend(domain_warnings(domain)),
            Some(Host::Ipv4(_) | Host::Ipv6(_)) if !loopback => {
                warnings.push("the host is an IP address, not a name".to_owned());
            }
            _ => {}
        }
        if let Some(port) = url.port().filter(|_| !loopback) {
            warnings.push(format!("the port is {port}, not the usual one"));
        }
        Ok(Self { before: before.to_owned(), host, after: after.to_owned(), warnings })
    }
}

/// Warns of a name that is not ASCII: how programs show it, and how it is really spelt.
fn domain_warnings(domain: &str) -> Vec<String> {
    if !domain.split('.').any(|label| label.starts_with("xn--")) {
        return vec![];
    }
    let (looks, _) = idna::domain_to_unicode(domain);
    let mut warnings = vec![format!(
        "the host is not what it may look like: {domain} is shown by some programs as {}",
        printable(&looks)
    )];
    if let Some(label) = looks.split('.').find(|label| scripts(label).len() > 1) {
        warnings.push(format!("{} mixes letters of {}", printable(label), scripts(label).join(" and ")));
    }
    warnings
}

/// The scripts in a label. Distinguishes only scripts with letters that look alike.
fn scripts(label: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    for letter in label.chars().filter(|letter| letter.is_alphabetic()) {
        let script = match u32::from(letter) {
            0x41..=0x24f | 0x1e00..=0x1eff => "Latin",
            0x370..=0x3ff | 0x1f00..=0x1fff => "Greek",
            0x400..=0x52f | 0x1c80..=0x1c8f => "Cyrillic",
            0x530..=0x58f => "Armenian",
            0x13a0..=0x13ff | 0xab70..=0xabbf => "Cherokee",
            _ => "another script",
        };
        if !found.contains(&script) {
            found.push(script);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_split_around_its_host() {
        let plain = PageAddress::parse("https://login.example.com/a?b=c#d").unwrap();
        assert_eq!((plain.before.as_str(), plain.after.as_str()), ("https://", "/a?b=c#d"));
        assert_eq!((plain.host.as_str(), plain.warnings.len()), ("login.example.com", 0));
        let odd = PageAddress::parse("https://example.com.evil.org:444/example.com").unwrap();
        assert_eq!((odd.host.as_str(), odd.after.as_str()), ("example.com.evil.org", ":444/example.com"));
        assert!(odd.warnings[0].contains("444"));
    }

    #[test]
    fn names_that_look_like_others_are_shown_both_ways() {
        // The first address starts with a Cyrillic letter.
        for (address, mixed) in [
            ("https://\u{430}pple.com/", true),
            ("https://xn--pple-43d.com/", true),
            ("https://münchen.example/", false),
        ] {
            let address = PageAddress::parse(address).unwrap();
            assert!(address.host.contains("xn--"), "{address:?}");
            assert!(address.warnings[0].contains(&address.host), "{address:?}");
            assert_eq!(
                address.warnings.iter().any(|text| text.contains("Latin and") || text.contains("and Latin")),
                mixed,
                "{address:?}"
            );
        }
        let whole = PageAddress::parse("https://\u{440}\u{430}\u{443}.example/").unwrap();
        assert_eq!(whole.warnings.len(), 1, "one alphabet throughout still has its other form shown: {whole:?}");
    }

    #[test]
    fn suspicious_addresses_get_warnings_or_are_refused() {
        for (address, expected) in [("http://example.com/", "encrypted"), ("https://10.0.0.1/", "IP address")] {
            assert!(PageAddress::parse(address).unwrap().warnings[0].contains(expected));
        }
        assert_eq!(PageAddress::parse("http://127.0.0.1:8080/x").unwrap().warnings, [""; 0]);
        for bad in ["javascript:alert(1)", "file:///etc/passwd", "https://github.com@evil.org/", "nonsense", "https://"]
        {
            assert!(PageAddress::parse(bad).is_err(), "{bad}");
        }
    }
}
