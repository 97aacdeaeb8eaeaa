//! The lists of a server, and which of them are to be read again.

use platform::sync::Mutex;
use rmcp::model::ServerCapabilities;
use std::collections::BTreeSet;
use tokio::sync::Notify;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ListKind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl ListKind {
    pub(crate) const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::Templates, Self::Prompts];

    /// What one entry is, for people.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Tools => "tool",
            Self::Resources => "resource",
            Self::Templates => "resource template",
            Self::Prompts => "prompt",
        }
    }

    /// Whether a server declares such a list. A list that is not declared is not requested.
    pub(crate) fn is_declared(self, capabilities: &ServerCapabilities) -> bool {
        match self {
            Self::Tools => capabilities.tools.is_some(),
            Self::Resources | Self::Templates => capabilities.resources.is_some(),
            Self::Prompts => capabilities.prompts.is_some(),
        }
    }
}

/// Lists that have changed.
#[derive(Default)]
pub(crate) struct ChangedLists {
    kinds: Mutex<BTreeSet<ListKind>>,
    changed: Notify,
}

impl ChangedLists {
    pub(crate) fn add(&self, kinds: &[ListKind]) {
        self.kinds.lock().extend(kinds);
        self.changed.notify_one();
    }

    /// Waits until lists have changed, and takes them.
    pub(crate) async fn next(&self) -> BTreeSet<ListKind> {
        self.changed.notified().await;
        std::mem::take(&mut *self.kinds.lock())
    }
}
