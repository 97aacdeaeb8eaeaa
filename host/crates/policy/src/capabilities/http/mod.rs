//! `http`: requests to other servers.

mod address;
mod pattern;
mod request_path;
mod target;

pub use address::AddressClass;
pub use pattern::{HttpPattern, HttpPatternError};
pub use request_path::{RequestPath, RequestPathError};
pub use target::{HttpTarget, HttpUrlError};

use super::common::capability_use::{CapabilityUse, Subject};
use super::common::extent::GrantEntry;
use super::common::mount::Mount;
use super::common::proposal::{GrantProposal, RequestedCapability};
use super::common::rules::{CapabilityRules, requested_each};
use crate::denial::{ASK_THE_USER, Denial, quoted};
use crate::identity::PluginId;
use crate::limits::exact_size;
use crate::limits::{check_duration, check_range};
use bytesize::ByteSize;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Requests of one call. Bounds how many requests another server gets from this address.
const REQUESTS: RangeInclusive<u32> = 1..=10_000;
/// Size of a body. Bounds the traffic of one request. The body is streamed, so its size does not matter for memory.
const BODY: RangeInclusive<ByteSize> = ByteSize::b(0)..=ByteSize::gib(1);
/// Time of a request. Bounds how long a server may keep a connection and a call open.
const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3_600);
/// Redirects. Bounds how often a response causes another request.
const REDIRECTS: RangeInclusive<u8> = 0..=3;

/// Allowed HTTP requests and their limits. The limits bound what one call costs other servers and this host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HttpGrant {
    pub allow: HttpPattern,
    /// Whether the host may be in a private network or on this machine. Only for a pattern that names one host: names that
    /// others control may resolve to any address.
    #[serde(default)]
    pub private: bool,
    /// A request is sent only if all calls of the tree have sent fewer than this. Bounds how many requests another server gets
    /// from this address.
    #[serde(default = "HttpGrant::requests")]
    pub requests: u32,
    /// Maximum size of a request's or response's body. Bounds traffic; both are streamed.
    #[serde(default = "HttpGrant::body", serialize_with = "exact_size")]
    pub body: ByteSize,
    /// Time from the request to the last byte of its response. Bounds a connection that a server keeps open.
    #[serde(default = "HttpGrant::timeout", with = "humantime_serde")]
    pub timeout: Duration,
    /// How many redirects are followed. Each target must be granted too.
    #[serde(default)]
    pub redirects: u8,
}

impl HttpGrant {
    fn requests() -> u32 {
        32
    }

    fn body() -> ByteSize {
        ByteSize::mib(10)
    }

    fn timeout() -> Duration {
        Duration::from_secs(30)
    }

    /// A grant with the default limits.
    pub fn new(allow: HttpPattern) -> Self {
        let (requests, body, timeout) = (Self::requests(), Self::body(), Self::timeout());
        Self { allow, private: false, requests, body, timeout, redirects: 0 }
    }

    fn check(&self) -> Result<(), String> {
        let Self { allow, private, requests, body, timeout, redirects } = self;
        check_range("grants.http: requests", *requests, REQUESTS)?;
        check_range("grants.http: body", *body, BODY)?;
        check_range("grants.http: redirects", *redirects, REDIRECTS)?;
        check_duration("grants.http: timeout", *timeout, TIMEOUT)?;
        if *private && !allow.names_one_host() {
            return Err(format!(
                "grants.http: `{allow}` covers many hosts, and somebody else decides where their names point; `private` is for a pattern that names one host"
            ));
        }
        Ok(())
    }
}

impl GrantEntry for HttpGrant {
    fn is_within(&self, other: &Self) -> bool {
        let Self { allow, private, requests, body, timeout, redirects } = self;
        allow.is_within(&other.allow)
            && (!private || other.private)
            && *requests <= other.requests
            && *body <= other.body
            && *timeout <= other.timeout
            && *redirects <= other.redirects
    }
}

impl GrantEntry for HttpPattern {
    fn is_within(&self, other: &Self) -> bool {
        Self::is_within(self, other)
    }
}

pub(crate) struct HttpRules;

impl CapabilityRules for HttpRules {
    const KEY: &'static str = "http";
    const IMPORTS: Option<(&'static [&'static str], &'static str)> =
        Some((&["wasi:http/"], "HTTP, to servers that you grant"));
    type Request = Vec<HttpPattern>;
    /// Requests to other servers; the first line that covers a request sets its limits and options.
    type Grant = Vec<HttpGrant>;

    fn check(grant: &Self::Grant) -> Result<(), String> {
        grant.iter().try_for_each(HttpGrant::check)
    }

    fn requested(request: &Self::Request) -> Vec<RequestedCapability> {
        requested_each(request, Self::KEY, "sends any data that it has to these servers, and reads their answers")
    }

    /// Any grant within a request is a part of it.
    fn ungranted(request: &Self::Request, grant: &Self::Grant) -> Self::Request {
        let meet = |one: &HttpPattern, other: &HttpPattern| one.is_within(other) || other.is_within(one);
        request.iter().filter(|one| !grant.iter().any(|other| meet(one, &other.allow))).cloned().collect()
    }

    fn granted(grant: &Self::Grant, _: &[Mount]) -> Vec<(&'static str, String)> {
        let line = |HttpGrant { allow, private, requests, body, timeout, redirects }: &HttpGrant| {
            let timeout = humantime::format_duration(*timeout);
            let private = if *private { ", private networks too" } else { "" };
            let redirects = if *redirects > 0 { format!(", {redirects} redirects") } else { String::new() };
            (Self::KEY, format!("{allow} ({requests} a call, {body}, {timeout}{redirects}{private})"))
        };
        grant.iter().map(line).collect()
    }

    fn propose(requested: RequestedCapability, _: &[String]) -> GrantProposal {
        let line = grant_of(&requested.detail);
        GrantProposal::new(requested, line)
    }
}

/// The line that grants such requests. Without `private`, a guest would not reach a host on this machine or in a private
/// network.
fn grant_of(pattern: &str) -> String {
    let inside = HttpPattern::new(pattern).is_ok_and(|pattern| pattern.is_inside());
    format!("http = [{{ allow = {}{} }}]", quoted(pattern), if inside { ", private = true" } else { "" })
}

/// A request to another server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpUse {
    /// Method and URL, without query.
    pub request: String,
}

impl HttpUse {
    fn parsed(&self) -> Option<HttpTarget> {
        let (method, url) = self.request.split_once(' ')?;
        HttpTarget::parse(method, url).ok()
    }

    /// The pattern to suggest in a remedy: method and server of the refused request.
    fn origin(&self) -> String {
        let (method, url) = self.request.split_once(' ').unwrap_or(("GET", &self.request));
        let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
        let text = format!("{method} {scheme}://{}/", rest.split('/').next().unwrap_or_default());
        match HttpPattern::new(&text) {
            Ok(_) => text,
            Err(_) => "GET https://<host>/".to_owned(),
        }
    }
}

impl CapabilityUse for HttpUse {
    type Rules = HttpRules;
    const KEY: &'static str = HttpRules::KEY;
    const QUESTION: &'static str = "METHOD URL";
    const NOTE: Option<&'static str> = Some("the addresses behind the name are checked when the request is sent");

    fn parse(words: &[&str]) -> Option<Result<Self, String>> {
        let [method, url] = words else { return None };
        Some(HttpTarget::parse(method, url).map(|target| Self { request: target.to_string() }))
    }

    fn target(&self) -> &str {
        &self.request
    }

    fn grant_line(&self) -> String {
        grant_of(&self.origin())
    }

    fn decide(
        &self,
        subject: Subject<'_>,
        requested: &Vec<HttpPattern>,
        granted: &Vec<HttpGrant>,
    ) -> Result<(), Denial> {
        let target = self.parsed().ok_or_else(|| self.not_granted(subject.plugin))?;
        grant_for(subject.plugin, requested, granted, &target).map(drop)
    }

    fn entry(&self, granted: &Vec<HttpGrant>) -> Option<usize> {
        let target = self.parsed()?;
        granted.iter().position(|it| it.allow.covers(&target))
    }
}

/// The first grant that covers a request: that one sets the limits and the options.
pub(crate) fn grant_for<'a>(
    plugin: &PluginId,
    requested: &[HttpPattern],
    granted: &'a [HttpGrant],
    target: &HttpTarget,
) -> Result<&'a HttpGrant, Denial> {
    let grant = granted.iter().find(|grant| grant.allow.covers(target));
    let used = || HttpUse { request: target.to_string() };
    match (grant, requested.iter().find(|pattern| pattern.covers(target))) {
        (Some(grant), Some(_)) => Ok(grant),
        (None, Some(requested)) => Err(not_granted(plugin, &used(), requested)),
        (_, None) => Err(used().not_requested(plugin)),
    }
}

/// The hosts of the requested servers, as far as a secret may be sent to them.
pub(super) fn secret_hosts(requested: &[HttpPattern]) -> Vec<String> {
    let mut hosts: Vec<_> = requested.iter().filter_map(HttpPattern::secret_host).collect();
    hosts.dedup();
    hosts
}

/// The operator has not granted this request. The manifest requests it with this pattern.
fn not_granted(plugin: &PluginId, used: &HttpUse, requested: &HttpPattern) -> Denial {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " ,:/._~-[]".contains(c);
    // If the pattern covers many hosts, suggest only the host of this request.
    let pattern = match requested.names_one_host() && requested.as_str().chars().all(is_plain) {
        true => requested.to_string(),
        false => used.origin(),
    };
    let line = grant_of(&pattern);
    Denial::with_grant(plugin, HttpUse::KEY, used.target(), HttpUse::NOT_GRANTED, &line)
}

impl Denial {
    /// The request is granted, but the address of its host is in a private network, on this machine, or forbidden.
    pub fn forbidden_address(plugin: &PluginId, request: String, reach: AddressClass) -> Self {
        const NEVER: &str = "No grant allows that";
        let (reason, advice, remedy) = match reach {
            AddressClass::Public | AddressClass::Private(_) => (
                "leads into a private network or to this machine",
                ASK_THE_USER,
                format!(
                    "To allow it, put `private = true` into the line of `http` under [{}.grants] that names this host, and this host alone",
                    plugin.table()
                ),
            ),
            AddressClass::Forbidden(_) => (
                "leads to an address that no plugin may reach, such as a metadata service or reserved space",
                NEVER,
                NEVER.to_owned(),
            ),
        };
        Self { capability: HttpUse::KEY, target: request, reason, advice, remedy }
    }
}
