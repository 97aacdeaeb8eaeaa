//! Where private results may go: what one origin wants kept between it and the client of the call does not reach another
//! one, unless the operator granted that flow.
//!
//! The host cannot see what a guest does with what it learns. So the rule is coarse: once a chain of calls has a private
//! result, everything it sends elsewhere counts as telling it.

use globset::{Glob, GlobMatcher};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt;

/// Who answers a reverse call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The client of the call.
    Client,
    /// An agent-side component of this host, by name.
    Component(String),
    /// A server behind this host, by name.
    Upstream(String),
    /// The client's model, standing in for a tool.
    Model,
    /// The client's user, likewise.
    User,
}

/// Who may come to know something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hearer {
    /// Whoever answers a reverse call.
    Origin(Origin),
    /// The service behind a connected account.
    Connection(String),
    /// A server that is sent a request, by host.
    Http(String),
    /// The model of this host.
    HostModel,
}

impl Hearer {
    /// Whether it is the client of the call, who learns its result in any case.
    pub fn is_client(&self) -> bool {
        match self {
            Hearer::Origin(Origin::Client | Origin::Model | Origin::User) => true,
            Hearer::Origin(Origin::Component(_) | Origin::Upstream(_))
            | Hearer::Connection(_)
            | Hearer::Http(_)
            | Hearer::HostModel => false,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Client => f.write_str("client"),
            Origin::Component(name) => write!(f, "agent.{name}"),
            Origin::Upstream(name) => write!(f, "upstream.{name}"),
            Origin::Model => f.write_str("model"),
            Origin::User => f.write_str("user"),
        }
    }
}

impl Origin {
    /// Out of its own text.
    pub fn parse(text: &str) -> Option<Self> {
        let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        match text.split_once('.') {
            None if text == "client" => Some(Self::Client),
            None if text == "model" => Some(Self::Model),
            None if text == "user" => Some(Self::User),
            Some(("agent", name)) => named(name).map(Self::Component),
            Some(("upstream", name)) => named(name).map(Self::Upstream),
            _ => None,
        }
    }
}

impl fmt::Display for Hearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hearer::Origin(origin) => origin.fmt(f),
            Hearer::Connection(name) => write!(f, "connections.{name}"),
            Hearer::Http(host) => write!(f, "http.{host}"),
            Hearer::HostModel => f.write_str("host-model"),
        }
    }
}

/// A checked pattern such as `client -> upstream.*`.
#[derive(Debug, Clone)]
pub struct FlowPattern {
    text: String,
    from: GlobMatcher,
    to: GlobMatcher,
}

/// Why a text is no flow.
#[derive(Debug, thiserror::Error)]
#[error("`{text}` is not a flow: {reason}; write `from -> to`, such as `client -> connections.github`")]
pub struct FlowError {
    text: String,
    reason: String,
}

impl FlowPattern {
    /// Checks a pattern.
    pub fn new(text: &str) -> Result<Self, FlowError> {
        let fail = |reason: &str| FlowError { text: text.to_owned(), reason: reason.to_owned() };
        if text.len() > 256 {
            return Err(fail("it is longer than 256 bytes"));
        }
        let (from, to) = text.split_once("->").ok_or_else(|| fail("it has no `->`"))?;
        let side = |side: &str| {
            let side = side.trim();
            let kind = side.split('.').next().unwrap_or_default();
            let named = side.len() > kind.len() + 1;
            let known = match kind {
                "client" | "model" | "user" | "host-model" => side == kind,
                "agent" | "upstream" | "connections" | "http" => named,
                _ => false,
            };
            if !known {
                return Err(fail(&format!("`{side}` is nobody")));
            }
            Glob::new(side).map(|glob| glob.compile_matcher()).map_err(|error| fail(&error.kind().to_string()))
        };
        Ok(Self { text: text.to_owned(), from: side(from)?, to: side(to)? })
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it covers this flow.
    pub fn covers(&self, from: &Origin, to: &Hearer) -> bool {
        self.from.is_match(from.to_string()) && self.to.is_match(to.to_string())
    }
}

impl PartialEq for FlowPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<'de> Deserialize<'de> for FlowPattern {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// Whose private results a chain of calls has seen.
pub type Secrets = BTreeSet<Origin>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_from_somebody_to_somebody() {
        let flow = FlowPattern::new("client -> upstream.*").unwrap();
        let github = Hearer::Origin(Origin::Upstream("github".into()));
        assert!(flow.covers(&Origin::Client, &github));
        assert!(!flow.covers(&Origin::Upstream("github".into()), &github));
        assert!(!flow.covers(&Origin::Client, &Hearer::HostModel));
        let below = FlowPattern::new("upstream.* -> http.*.example.com").unwrap();
        let told = |host: &str| below.covers(&Origin::Upstream("a".into()), &Hearer::Http(host.into()));
        assert!(told("api.example.com") && !told("example.com") && !told("api.example.com.evil.org"));
        for wrong in [
            "client",
            "client -> ",
            "client -> everybody",
            "clients -> model",
            "* -> *",
            "agent -> model",
            "agent. -> model",
        ] {
            assert!(FlowPattern::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_origin_is_its_text() {
        let origins =
            [Origin::Client, Origin::Model, Origin::User, Origin::Component("a".into()), Origin::Upstream("b".into())];
        for origin in origins {
            assert_eq!(Origin::parse(&origin.to_string()), Some(origin));
        }
        assert_eq!([Origin::parse(""), Origin::parse("agent."), Origin::parse("client.x")], [None, None, None]);
    }

    #[test]
    fn the_client_hears_everything() {
        assert!(Hearer::Origin(Origin::User).is_client());
        assert!(!Hearer::HostModel.is_client());
    }
}
