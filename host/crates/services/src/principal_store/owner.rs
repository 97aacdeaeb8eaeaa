//! Everything that is kept for one principal.

use super::context::OwnerContext;
use super::inbox::Inbox;
use super::item::Item;
use super::prompt::StoredPrompt;
use super::quota::{MAX_ITEM, MAX_OWNER, MAX_PLUGIN, MAX_TOTAL, Usage, WRITE_RATE, take};
use super::resource::{self, StoredResource};
use super::run::StoredRun;
use policy::{DataKey, PrivateOrigins, TokenBucket};
use runtime::imports::{BudgetKind, Exhaustion, Provenance};
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

#[derive(Default)]
pub(super) struct OwnerData {
    /// By URI without `portcullis://published/`.
    pub(super) resources: BTreeMap<String, StoredResource>,
    /// By the name that clients use.
    pub(super) prompts: BTreeMap<String, StoredPrompt>,
    pub(super) inbox: Inbox,
    /// Oldest first.
    pub(super) runs: VecDeque<StoredRun>,
    /// Its usage when it was changed last.
    pub(super) counted: Usage,
    writes: BTreeMap<(DataKey, PrivateOrigins), TokenBucket>,
}

impl OwnerData {
    pub(super) fn usage(&self) -> Usage {
        let runs = self.runs.iter().fold(Usage::default(), |sum, run| sum.plus(run.usage()));
        self.published(|_| true).plus(self.inbox.usage()).plus(runs)
    }

    /// Drops the oldest chunks of the largest logs, until all together have at most `most` bytes.
    pub(super) fn shrink_logs(&mut self, most: u64) {
        while self.runs.iter().map(|run| run.bytes).sum::<u64>() > most
            && let Some(largest) = self.runs.iter_mut().max_by_key(|run| run.bytes)
            && largest.drop_oldest()
        {}
    }

    /// Usage by the calls for which `by` holds.
    pub(super) fn published(&self, by: impl Fn(&Provenance) -> bool) -> Usage {
        let resources = self.resources.values().map(|one| (&one.source, one.usage()));
        let prompts = self.prompts.values().map(|one| (&one.source, one.usage()));
        let counted = resources.chain(prompts).filter(|(source, _)| by(source));
        counted.fold(Usage::default(), |sum, (_, held)| sum.plus(held))
    }

    /// Checks that a call may replace `old` with `new`.
    pub(super) fn check_quota(
        &self,
        others: Usage,
        source: &Provenance,
        old: Usage,
        new: Usage,
    ) -> Result<(), Exhaustion> {
        if new.bytes > MAX_ITEM {
            return Err(Exhaustion { budget: BudgetKind::Stored, limit: MAX_ITEM });
        }
        let own = |by: &Provenance| by.data == source.data && source.may_notice(by);
        self.published(own).minus(old).plus(new).within(MAX_PLUGIN)?;
        self.published(|by| source.may_notice(by)).minus(old).plus(new).within(MAX_OWNER)?;
        others.plus(self.usage()).minus(old).plus(new).within(MAX_TOTAL)
    }

    /// Counts one change by a plugin.
    pub(super) fn write(&mut self, source: &Provenance, now: Instant) -> Result<(), Exhaustion> {
        let writer = (source.data.clone(), source.knows.clone());
        let bucket = self.writes.entry(writer).or_insert_with(|| TokenBucket::new(WRITE_RATE, now));
        take(bucket, WRITE_RATE, now)
    }

    /// Removes what has expired.
    pub(super) fn expire(&mut self, context: &mut OwnerContext<'_>) {
        let now = context.now;
        let (resources, prompts) = (self.resources.len(), self.prompts.len());
        self.resources.retain(|tail, resource| {
            let stays = resource.expires > now;
            if !stays {
                context.changed(&resource::uri(tail));
                context.expired(Item::Resource(tail.clone()));
            }
            stays
        });
        self.prompts.retain(|name, prompt| {
            let stays = prompt.expires > now;
            if !stays {
                context.expired(Item::Prompt(name.clone()));
            }
            stays
        });
        if self.resources.len() < resources {
            context.resources_changed();
        }
        if self.prompts.len() < prompts {
            context.prompts_changed();
        }
        if self.inbox.expire(now) {
            context.expired(Item::Inbox);
        }
        self.runs.retain(|run| !run.is_over(now));
        self.writes.retain(|_, bucket| !bucket.is_full(WRITE_RATE, now));
    }

    /// Whether nothing is stored and all rate limits have recovered, so that dropping the owner changes nothing.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.usage() == Usage::default()
            && self.inbox.is_idle(now)
            && self.writes.values().all(|b| b.is_full(WRITE_RATE, now))
    }
}
