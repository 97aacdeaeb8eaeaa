//! `permissions.network`: HTTP requests to hosts. A host of a policy stands for every method; here it stands for https on its
//! usual port, unless the policy names a scheme or a port.

use super::policy_text::Node;
use super::remarks::Remarks;
use policy::HttpPattern;
use std::net::IpAddr;
use url::Url;

const METHODS: &str = "GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS";

/// Requests that are granted.
#[derive(Debug, PartialEq)]
pub(super) struct Web {
    pub(super) allow: HttpPattern,
    /// Whether the policy itself names this machine or an address in a private network.
    pub(super) private: bool,
}

struct Entry {
    line: usize,
    host: Option<String>,
    cidr: Option<String>,
}

pub(super) fn translate(node: &Node, remarks: &mut Remarks) -> Vec<Web> {
    let (mut allowed, mut denied) = (Vec::new(), Vec::new());
    for (key, list) in node.members("network", remarks) {
        let entries = match key.as_str() {
            "allow" => &mut allowed,
            "deny" => &mut denied,
            other => {
                remarks.leave_out(list.line, format!("network has no key `{other}`"));
                continue;
            }
        };
        for item in list.items(key, remarks) {
            entries.extend(Entry::read(item, remarks));
        }
    }
    let mut web: Vec<Web> = Vec::new();
    for entry in &allowed {
        let Some(host) = &entry.host else {
            let range = entry.cidr.as_deref().unwrap_or_default();
            remarks.leave_out(entry.line, format!("`{range}` is not granted: requests go to names; name the hosts"));
            continue;
        };
        match translate_host(host).and_then(|granted| check_denied(host, &denied).map(|()| granted)) {
            Err(why) => remarks.leave_out(entry.line, format!("`{host}` is not granted: {why}")),
            Ok(granted) if web.contains(&granted) => {}
            Ok(granted) => web.push(granted),
        }
    }
    if !web.is_empty() {
        let line = node.line;
        remarks
            .note(line, "plain host names are granted with https on port 443 only; write http://host:port for others");
    }
    web
}

impl Entry {
    fn read(node: &Node, remarks: &mut Remarks) -> Option<Self> {
        let mut entry = Self { line: node.line, host: None, cidr: None };
        let before = remarks.left_out.len();
        for (key, value) in node.members("an entry of network", remarks) {
            match (key.as_str(), value.text()) {
                ("host", Some(host)) => entry.host = Some(host.to_ascii_lowercase()),
                ("cidr", Some(cidr)) => entry.cidr = Some(cidr.to_owned()),
                _ => remarks.leave_out(value.line, format!("an entry of network has no key `{key}` like that")),
            }
        }
        if entry.host.is_some() == entry.cidr.is_some() {
            remarks.leave_out(entry.line, "an entry of network has either `host` or `cidr`");
        }
        (remarks.left_out.len() == before).then_some(entry)
    }
}

/// The error is the end of a sentence about why the host cannot be granted.
fn translate_host(host: &str) -> Result<Web, String> {
    let url = if host.contains("://") { host.to_owned() } else { format!("https://{host}") };
    let allow = HttpPattern::new(&format!("{METHODS} {url}")).map_err(|error| error.to_string())?;
    let private = is_private(&name(host));
    Ok(Web { allow, private })
}

/// The name or address in a host of a policy, which may be a URL.
fn name(host: &str) -> String {
    let url = if host.contains("://") { host.to_owned() } else { format!("https://{host}") };
    let name = Url::parse(&url).ok().and_then(|url| url.host_str().map(str::to_owned));
    name.unwrap_or_else(|| host.to_owned()).trim_matches(['[', ']']).to_owned()
}

/// Whether the name itself shows that it is not on the public net, so that its writer must have known.
fn is_private(name: &str) -> bool {
    match name.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => address.is_loopback() || address.is_private(),
        Ok(IpAddr::V6(address)) => address.is_loopback() || address.is_unique_local(),
        Err(_) => name == "localhost" || name.ends_with(".localhost"),
    }
}

/// Fails if a denial may cover a part of the host. The error is the end of a sentence about why nothing is granted.
fn check_denied(host: &str, denied: &[Entry]) -> Result<(), String> {
    let own = name(host);
    let covers = |wide: &str, one: &str| {
        wide == one || wide == "*" || wide.strip_prefix('*').is_some_and(|end| one.ends_with(end) || one == &end[1..])
    };
    for deny in denied {
        let (what, touches) = match (&deny.host, &deny.cidr) {
            (Some(other), _) => (other, covers(&name(other), &own) || covers(&own, &name(other))),
            // A name may lead to any address. A denied private range is no obstacle for a name, since the host refuses it in
            // any case.
            (None, Some(range)) => (range, is_private(&own) || !is_private_range(range)),
            (None, None) => continue,
        };
        if touches {
            return Err(format!(
                "line {} denies `{what}`, and a grant has no exceptions; if that means everything else, leave it out: \
                 everything else is denied anyway",
                deny.line
            ));
        }
    }
    Ok(())
}

/// Whether the host refuses all addresses of a range unless they are named.
fn is_private_range(range: &str) -> bool {
    let Some((address, bits)) = range.split_once('/') else { return false };
    let (Ok(IpAddr::V4(address)), Ok(bits)) = (address.parse(), bits.parse::<u32>()) else { return false };
    let least = match address.octets() {
        [10 | 127, ..] => 8,
        [169, 254, ..] | [192, 168, ..] => 16,
        [172, 16..=31, ..] => 12,
        _ => return false,
    };
    (least..=32).contains(&bits)
}
