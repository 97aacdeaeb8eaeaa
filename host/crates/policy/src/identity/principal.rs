//! The identities that calls run for.

use std::sync::{Arc, LazyLock};

/// An authenticated identity. Everything that outlives a request is kept per principal. Clones are cheap.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Principal(Arc<str>);

impl Principal {
    /// The user who started the process. It owns all calls over stdio and on the command line.
    pub fn local() -> Self {
        Self("local".into())
    }

    /// Every client of a server without authentication.
    pub fn anonymous() -> Self {
        static ANONYMOUS: LazyLock<Principal> = LazyLock::new(|| Principal("anonymous".into()));
        ANONYMOUS.clone()
    }

    /// The host itself.
    pub fn host() -> Self {
        static HOST: LazyLock<Principal> = LazyLock::new(|| Principal("host".into()));
        HOST.clone()
    }

    /// An identity from a source, such as `key:alice`. The prefix keeps sources apart.
    pub fn from_source(source: &str, name: &str) -> Self {
        Self(format!("{source}:{name}").into())
    }

    /// An identity that this host has stored as text.
    pub fn from_stored(text: &str) -> Self {
        Self(text.into())
    }

    /// The identity as text, for logs and for guests.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A principal that the host's own code names.
impl From<&'static str> for Principal {
    fn from(name: &'static str) -> Self {
        Self(name.into())
    }
}

impl std::fmt::Display for Principal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
