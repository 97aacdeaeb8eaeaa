//! On whose behalf calls run.

use std::sync::Arc;

/// A checked identity. Everything that outlives a request is kept by principal. Clones are cheap.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Principal(Arc<str>);

impl Principal {
    /// Whoever started the process: over stdio, and on the command line.
    pub fn local() -> Self {
        Self("local".into())
    }

    /// Everybody who talks to a server that asks nobody who they are.
    pub fn anonymous() -> Self {
        Self("anonymous".into())
    }

    /// Somebody whom a source of identities vouches for, such as `key:alice`; the prefix keeps sources apart.
    pub fn known(source: &str, name: &str) -> Self {
        Self(format!("{source}:{name}").into())
    }

    /// As text, for logs and for guests.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One that the host names itself, by a word in its code.
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
