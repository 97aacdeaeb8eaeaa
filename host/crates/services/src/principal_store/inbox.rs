//! The inbox: a principal's events, newest last.
//!
//! Events are numbered without gaps, so a gap in what a client reads is the number of dropped events.

use super::context::{MAX_AGE, format_date};
use super::quota::{EVENT_RATE, Usage, take};
use platform::text::truncate_chars;
use policy::{DataKey, PrivateOrigins, TokenBucket};
use runtime::imports::{Exhaustion, PluginEvent, Provenance};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Instant, SystemTime};

/// The URI of the inbox; each principal reads its own.
pub const INBOX: &str = "portcullis://inbox";

/// Limit of one inbox. Bounds what a client reads after an absence, and the host's memory.
const MAX_INBOX: Usage = Usage { items: 256, bytes: 256 << 10 };
/// Limit of one plugin in one inbox. Bounds a plugin that pushes out the events of others.
const MAX_SENDER: Usage = Usage { items: 128, bytes: 128 << 10 };
/// Deduplication keys remembered per plugin. Bounds the host's memory.
const MAX_KEYS: usize = 512;

#[derive(Default)]
pub(super) struct Inbox {
    /// Distinguishes this inbox from an earlier one of the same principal with the same numbers.
    pub(super) name: String,
    pub(super) events: VecDeque<InboxEntry>,
    pub(super) newest: u64,
    /// The newest event when it was last stored or read.
    pub(super) stored: u64,
    pub(super) senders: BTreeMap<(DataKey, PrivateOrigins), InboxSender>,
}

#[derive(Clone)]
pub(super) struct InboxEntry {
    pub(super) number: u64,
    pub(super) event: PluginEvent,
    pub(super) source: Provenance,
    pub(super) wall: SystemTime,
    pub(super) expires: Instant,
    /// Whether its plugin was not there when the event was read from the store.
    pub(super) is_hidden: bool,
}

pub(super) struct InboxSender {
    pub(super) bucket: TokenBucket,
    /// Name, key and expiry, oldest first.
    pub(super) seen: VecDeque<(String, String, Instant)>,
}

/// A copy taken under the store's lock and serialised outside it.
pub(super) struct InboxExcerpt {
    name: String,
    entries: Vec<InboxEntry>,
    newest: u64,
    dropped: u64,
}

#[derive(Serialize)]
struct InboxDocument {
    events: Vec<ShownEvent>,
    /// The cursor for `?after`.
    next: Option<String>,
    /// How many of the requested events were dropped.
    dropped: u64,
}

#[derive(Serialize)]
struct ShownEvent {
    id: String,
    name: String,
    payload: Value,
    #[serde(flatten)]
    source: Provenance,
    time: String,
}

impl InboxEntry {
    fn usage(&self) -> Usage {
        Usage::one(self.event.name.len() + self.event.payload.len())
    }
}

impl InboxSender {
    pub(super) fn new(now: Instant) -> Self {
        Self { bucket: TokenBucket::new(EVENT_RATE, now), seen: VecDeque::new() }
    }

    fn has_seen(&self, event: &PluginEvent) -> bool {
        let key = event.dedupe_key.as_deref();
        self.seen.iter().any(|(name, seen, _)| *name == event.name && Some(seen.as_str()) == key)
    }

    pub(super) fn remember(&mut self, event: String, key: String, until: Instant) {
        self.seen.push_back((event, key, until));
        let excess = self.seen.len().saturating_sub(MAX_KEYS);
        self.seen.drain(..excess);
    }
}

impl Inbox {
    /// Usage of events and remembered keys.
    pub(super) fn usage(&self) -> Usage {
        let keys = self.senders.values().flat_map(|sender| &sender.seen);
        let bytes = keys.map(|(name, key, _)| name.len() + key.len()).sum::<usize>();
        self.usage_of(|_| true).plus(Usage { items: 0, bytes: bytes as u64 })
    }

    fn usage_of(&self, by: impl Fn(&str) -> bool) -> Usage {
        let counted = self.events.iter().filter(|entry| by(&entry.source.plugin));
        counted.fold(Usage::default(), |sum, entry| sum.plus(entry.usage()))
    }

    /// Whether there is nothing to keep for the next process.
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.senders.values().all(|sender| sender.seen.is_empty())
    }

    /// Removes what has expired. Returns whether the inbox has become empty by that.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let was_empty = self.is_empty();
        self.events.retain(|entry| entry.expires > now);
        for sender in self.senders.values_mut() {
            sender.seen.retain(|(.., until)| *until > now);
        }
        self.senders.retain(|_, sender| !(sender.seen.is_empty() && sender.bucket.is_full(EVENT_RATE, now)));
        !was_empty && self.is_empty()
    }

    /// Whether dropping this inbox would make no difference.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        let idle = |sender: &InboxSender| sender.seen.is_empty() && sender.bucket.is_full(EVENT_RATE, now);
        self.events.is_empty() && self.senders.values().all(idle)
    }

    pub(super) fn add(
        &mut self,
        source: Provenance,
        event: PluginEvent,
        now: Instant,
        wall: SystemTime,
    ) -> Result<bool, Exhaustion> {
        if self.has_seen(&source, &event) {
            return Ok(false);
        }
        let writer = (source.data.clone(), source.knows.clone());
        let sender = self.senders.entry(writer).or_insert_with(|| InboxSender::new(now));
        take(&mut sender.bucket, EVENT_RATE, now)?;
        if let Some(key) = &event.dedupe_key {
            sender.remember(event.name.clone(), key.clone(), now + MAX_AGE);
        }
        if self.name.is_empty() {
            self.name = Self::name_after(&source);
        }
        self.newest += 1;
        let plugin = source.plugin.clone();
        let (number, expires, is_hidden) = (self.newest, now + MAX_AGE, false);
        self.events.push_back(InboxEntry { number, event, source, wall, expires, is_hidden });
        self.shrink_of(&plugin);
        Ok(true)
    }

    /// Makes a name from the call's id. That is random, which is sufficient here.
    pub(super) fn name_after(source: &Provenance) -> String {
        truncate_chars(&source.call, 8).to_owned()
    }

    pub(super) fn has_seen(&self, source: &Provenance, event: &PluginEvent) -> bool {
        let noticed = |(data, knew): &(DataKey, PrivateOrigins)| *data == source.data && knew.is_subset(&source.knows);
        self.senders.iter().any(|(writer, sender)| noticed(writer) && sender.has_seen(event))
    }

    /// Drops the oldest events of each plugin, and of the whole inbox, until they are within the limits.
    pub(super) fn shrink(&mut self) {
        let plugins: BTreeSet<String> = self.events.iter().map(|entry| entry.source.plugin.clone()).collect();
        plugins.iter().for_each(|plugin| self.shrink_of(plugin));
    }

    fn shrink_of(&mut self, plugin: &str) {
        while self.usage_of(|by| by == plugin).within(MAX_SENDER).is_err()
            && let Some(oldest) = self.events.iter().position(|entry| entry.source.plugin == plugin)
        {
            self.events.remove(oldest);
        }
        while self.usage_of(|_| true).within(MAX_INBOX).is_err() {
            self.events.pop_front();
        }
    }

    /// Events after the one with the id `after`. An unknown id, for instance of an inbox that two processes have written to at
    /// once, means from the beginning: better delivered twice than lost.
    pub(super) fn excerpt(&self, after: Option<&str>) -> InboxExcerpt {
        let known = after.and_then(|id| id.strip_prefix(&self.name)?.strip_prefix('-')?.parse().ok());
        let after = known.filter(|number| *number <= self.newest).unwrap_or(0);
        let unread = || self.events.iter().filter(|entry| entry.number > after);
        let entries: Vec<_> = unread().filter(|entry| !entry.is_hidden).cloned().collect();
        let dropped = (self.newest - after).saturating_sub(unread().count() as u64);
        InboxExcerpt { name: self.name.clone(), entries, newest: self.newest, dropped }
    }
}

impl InboxExcerpt {
    pub(super) fn into_json(self) -> String {
        let Self { name, entries, newest, dropped } = self;
        let id = |number: u64| format!("{name}-{number}");
        let shown = |InboxEntry { number, event, source, wall, .. }: InboxEntry| ShownEvent {
            id: id(number),
            name: event.name,
            payload: serde_json::from_str(&event.payload).unwrap_or_default(),
            source,
            time: format_date(wall),
        };
        let events = entries.into_iter().map(shown).collect();
        let document = InboxDocument { events, next: (newest > 0).then(|| id(newest)), dropped };
        serde_json::to_string(&document).unwrap_or_default()
    }
}
