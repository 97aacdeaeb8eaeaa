//! Where private results may go: a result that one origin marked private reaches nobody but the client of the call, unless the
//! operator granted that flow.
//!
//! The host cannot see what a guest does with a result. So the rule is coarse: once a chain of calls has seen a private
//! result, everything that it sends elsewhere counts as passing it on.

use globset::{Glob, GlobMatcher};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// Who answers a reverse call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    Client,
    /// An agent-side component of this host, by name.
    Component(String),
    /// An upstream server, by name.
    Upstream(String),
    /// The client's model, standing in for a tool.
    Model,
    /// The client's user, standing in for a tool.
    User,
}

/// Who would receive data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipient {
    /// The origin that a reverse call goes to.
    Origin(Origin),
    /// The service behind a connected account.
    Connection(String),
    /// The server of an HTTP request, or of a page that the user is asked to open, by host.
    Http(String),
    HostModel,
    /// Granted directories and the plugin's own directory: other programs and other calls can read them.
    Files,
    /// Published prompts: other calls can observe that a name is taken.
    Prompts,
}

impl Recipient {
    /// Whether the recipient is the client of the call, or its model or user: they get the result in any case.
    pub fn is_client(&self) -> bool {
        match self {
            Recipient::Origin(Origin::Client | Origin::Model | Origin::User) => true,
            Recipient::Origin(Origin::Component(_) | Origin::Upstream(_))
            | Recipient::Connection(_)
            | Recipient::Http(_)
            | Recipient::HostModel
            | Recipient::Files
            | Recipient::Prompts => false,
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

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Recipient::Origin(origin) => origin.fmt(f),
            Recipient::Connection(name) => write!(f, "connections.{name}"),
            Recipient::Http(host) => write!(f, "http.{host}"),
            Recipient::HostModel => f.write_str("host-model"),
            Recipient::Files => f.write_str("files"),
            Recipient::Prompts => f.write_str("prompts"),
        }
    }
}

impl Recipient {
    pub fn parse(text: &str) -> Option<Self> {
        let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        match text.split_once('.') {
            Some(("connections", name)) => named(name).map(Self::Connection),
            Some(("http", host)) => named(host).map(Self::Http),
            None if text == "host-model" => Some(Self::HostModel),
            None if text == "files" => Some(Self::Files),
            None if text == "prompts" => Some(Self::Prompts),
            _ => Origin::parse(text).map(Self::Origin),
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

#[derive(Debug, thiserror::Error)]
#[error("`{text}` is not a flow: {reason}; write `from -> to`, such as `client -> connections.github`")]
pub struct FlowError {
    text: String,
    reason: String,
}

impl FlowPattern {
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
                "client" | "model" | "user" | "host-model" | "files" | "prompts" => side == kind,
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

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it covers this flow.
    pub fn covers(&self, from: &Origin, to: &Recipient) -> bool {
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

impl Serialize for FlowPattern {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Origin {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            let why = format!("`{text}` is nobody: write client, model, user, agent.<name> or upstream.<name>");
            serde::de::Error::custom(why)
        })
    }
}

impl Serialize for Origin {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The origins whose private results a chain of calls has seen.
pub type PrivateOrigins = BTreeSet<Origin>;

/// The first of these origins whose private results may not go to `to`. They may always go back to their origin and to the
/// client.
pub fn first_blocked<'a>(secrets: &'a PrivateOrigins, to: &Recipient, granted: &[FlowPattern]) -> Option<&'a Origin> {
    let itself = |from: &Origin| matches!(to, Recipient::Origin(origin) if origin == from);
    let may = |from: &Origin| to.is_client() || itself(from) || granted.iter().any(|flow| flow.covers(from, to));
    secrets.iter().find(|from| !may(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_from_somebody_to_somebody() {
        let flow = FlowPattern::new("client -> upstream.*").unwrap();
        let github = Recipient::Origin(Origin::Upstream("github".into()));
        assert!(flow.covers(&Origin::Client, &github));
        assert!(!flow.covers(&Origin::Upstream("github".into()), &github));
        assert!(!flow.covers(&Origin::Client, &Recipient::HostModel));
        let below = FlowPattern::new("upstream.* -> http.*.example.com").unwrap();
        let told = |host: &str| below.covers(&Origin::Upstream("a".into()), &Recipient::Http(host.into()));
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
    fn a_recipient_is_its_text() {
        let named = [Recipient::Connection("a".into()), Recipient::Http("a.b".into())];
        let others = [Recipient::HostModel, Recipient::Files, Recipient::Prompts, Recipient::Origin(Origin::User)];
        for recipient in named.into_iter().chain(others) {
            assert_eq!(Recipient::parse(&recipient.to_string()), Some(recipient));
        }
        assert_eq!([Recipient::parse("http."), Recipient::parse("file")], [None, None]);
    }

    #[test]
    fn nothing_goes_on_but_to_itself_the_client_and_where_it_is_granted() {
        let upstream = |name: &str| Origin::Upstream(name.into());
        let secrets = PrivateOrigins::from([Origin::Client, upstream("a")]);
        let flows =
            [FlowPattern::new("client -> upstream.a").unwrap(), FlowPattern::new("upstream.* -> files").unwrap()];
        let blocked = |to: Recipient| first_blocked(&secrets, &to, &flows).cloned();
        assert_eq!(blocked(Recipient::Origin(upstream("a"))), None);
        assert_eq!(blocked(Recipient::Origin(upstream("b"))), Some(Origin::Client));
        assert_eq!(blocked(Recipient::Files), Some(Origin::Client));
        assert_eq!(
            (blocked(Recipient::Origin(Origin::Model)), blocked(Recipient::Prompts)),
            (None, Some(Origin::Client))
        );
    }

    #[test]
    fn the_client_hears_everything() {
        assert!(Recipient::Origin(Origin::User).is_client());
        assert!(!Recipient::HostModel.is_client());
    }
}
