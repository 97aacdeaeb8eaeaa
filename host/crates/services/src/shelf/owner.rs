//! All that is kept for one principal.

use super::Desk;
use super::inbox::Inbox;
use super::prompts::Prompt;
use super::quota::{Bucket, Held, WRITES};
use super::resources::Resource;
use super::runs::Kept;
use runtime::imports::Exhaustion;
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

#[derive(Default)]
pub(super) struct Owner {
    /// By what follows `portcullis://published/`.
    pub(super) resources: BTreeMap<String, Resource>,
    /// By the name that clients use.
    pub(super) prompts: BTreeMap<String, Prompt>,
    pub(super) inbox: Inbox,
    /// In the order in which they began.
    pub(super) runs: VecDeque<Kept>,
    /// By plugin.
    writes: BTreeMap<String, Bucket>,
}

impl Owner {
    /// Everything.
    pub(super) fn held(&self) -> Held {
        let runs = self.runs.iter().fold(Held::default(), |sum, run| sum.plus(run.held()));
        self.published(|_| true).plus(self.inbox.held()).plus(runs)
    }

    /// What these plugins published.
    pub(super) fn published(&self, by: impl Fn(&str) -> bool) -> Held {
        let resources = self.resources.values().map(|one| (&one.source, one.held()));
        let prompts = self.prompts.values().map(|one| (&one.source, one.held()));
        let counted = resources.chain(prompts).filter(|(source, _)| by(&source.plugin));
        counted.fold(Held::default(), |sum, (_, held)| sum.plus(held))
    }

    /// Counts one change by a plugin.
    pub(super) fn write(&mut self, plugin: &str, now: Instant) -> Result<(), Exhaustion> {
        self.writes.entry(plugin.to_owned()).or_insert_with(|| Bucket::full(now)).take(WRITES, now)
    }

    /// Takes out what has had its time.
    pub(super) fn expire(&mut self, desk: &mut Desk<'_>) {
        let now = desk.now;
        let (resources, prompts) = (self.resources.len(), self.prompts.len());
        self.resources.retain(|tail, resource| {
            let stays = resource.expires > now;
            if !stays {
                desk.changed(&super::resources::uri(tail));
            }
            stays
        });
        self.prompts.retain(|_, prompt| prompt.expires > now);
        if self.resources.len() < resources {
            desk.resources_changed();
        }
        if self.prompts.len() < prompts {
            desk.prompts_changed();
        }
        self.inbox.expire(now);
        self.runs.retain(|run| !run.is_over(now));
        self.writes.retain(|_, bucket| !bucket.is_full(now));
    }

    /// Nothing is kept, and forgetting the owner gives nobody a fresh start.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.held() == Held::default() && self.inbox.is_idle(now) && self.writes.values().all(|b| b.is_full(now))
    }
}
