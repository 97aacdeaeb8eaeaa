//! The inbox: a principal's events, newest last.
//!
//! Events are numbered without gaps, so a gap in what is read says how many are gone.

use super::quota::{ALL, Bucket, EVENTS, Held};
use super::{INBOX, STAY, Shelf, date};
use policy::Principal;
use runtime::imports::{Event, EventError, EventSink, Exhaustion, Provenance};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::time::{Instant, SystemTime};

/// Events of one inbox, and their bytes. Bounds what a client that was away has to read, and the host's memory.
const KEPT: Held = Held { items: 256, bytes: 256 << 10 };
/// Events of one plugin in one inbox. Bounds a plugin that pushes out what others have to say.
const SHARE: Held = Held { items: 128, bytes: 128 << 10 };
/// Deduplication keys that are remembered of one plugin. Bounds the host's memory.
const KEYS: usize = 512;

/// A principal's events.
#[derive(Default)]
pub(super) struct Inbox {
    /// Tells this inbox from an earlier one of the same principal, whose numbers were the same.
    name: String,
    events: VecDeque<Entry>,
    /// The number of the newest event.
    newest: u64,
    /// By plugin.
    senders: BTreeMap<String, Sender>,
}

#[derive(Clone)]
struct Entry {
    number: u64,
    event: Event,
    source: Provenance,
    wall: SystemTime,
    expires: Instant,
}

struct Sender {
    bucket: Bucket,
    /// Name, key, and until when they are remembered, oldest first.
    seen: VecDeque<(String, String, Instant)>,
}

/// What is read of an inbox: taken under the shelf's lock, made into text outside it.
pub(super) struct Excerpt {
    name: String,
    entries: Vec<Entry>,
    newest: u64,
    dropped: u64,
}

#[derive(Serialize)]
struct Document {
    events: Vec<Shown>,
    /// The cursor for reading on.
    next: Option<String>,
    /// How many of the events asked for are gone.
    dropped: u64,
}

#[derive(Serialize)]
struct Shown {
    id: String,
    name: String,
    payload: Value,
    #[serde(flatten)]
    source: Provenance,
    time: String,
}

impl Entry {
    fn held(&self) -> Held {
        Held::one(self.event.name.len() + self.event.payload.len())
    }
}

impl Sender {
    fn new(now: Instant) -> Self {
        Self { bucket: Bucket::full(now), seen: VecDeque::new() }
    }

    fn has_seen(&self, event: &Event) -> bool {
        let key = event.dedupe_key.as_deref();
        self.seen.iter().any(|(name, seen, _)| *name == event.name && Some(seen.as_str()) == key)
    }
}

impl Inbox {
    /// Events and remembered keys.
    pub(super) fn held(&self) -> Held {
        let keys = self.senders.values().flat_map(|sender| &sender.seen);
        let bytes = keys.map(|(name, key, _)| name.len() + key.len()).sum::<usize>();
        self.events_of(|_| true).plus(Held { items: 0, bytes: bytes as u64 })
    }

    fn events_of(&self, by: impl Fn(&str) -> bool) -> Held {
        let counted = self.events.iter().filter(|entry| by(&entry.source.plugin));
        counted.fold(Held::default(), |sum, entry| sum.plus(entry.held()))
    }

    pub(super) fn expire(&mut self, now: Instant) {
        self.events.retain(|entry| entry.expires > now);
        for sender in self.senders.values_mut() {
            sender.seen.retain(|(.., until)| *until > now);
        }
        self.senders.retain(|_, sender| !(sender.seen.is_empty() && sender.bucket.is_full(now)));
    }

    /// Nothing is remembered that could make a difference.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        let idle = |sender: &Sender| sender.seen.is_empty() && sender.bucket.is_full(now);
        self.events.is_empty() && self.senders.values().all(idle)
    }

    fn add(&mut self, source: Provenance, event: Event, now: Instant, wall: SystemTime) -> Result<bool, Exhaustion> {
        let sender = self.senders.entry(source.plugin.clone()).or_insert_with(|| Sender::new(now));
        if sender.has_seen(&event) {
            return Ok(false);
        }
        sender.bucket.take(EVENTS, now)?;
        if let Some(key) = &event.dedupe_key {
            sender.seen.push_back((event.name.clone(), key.clone(), now + STAY));
            let excess = sender.seen.len().saturating_sub(KEYS);
            sender.seen.drain(..excess);
        }
        if self.name.is_empty() {
            // A call's id is random, which is all that is wanted here.
            self.name = source.call.chars().take(8).collect();
        }
        self.newest += 1;
        let plugin = source.plugin.clone();
        self.events.push_back(Entry { number: self.newest, event, source, wall, expires: now + STAY });
        while self.events_of(|by| by == plugin).within(SHARE).is_err()
            && let Some(oldest) = self.events.iter().position(|entry| entry.source.plugin == plugin)
        {
            self.events.remove(oldest);
        }
        while self.events_of(|_| true).within(KEPT).is_err() {
            self.events.pop_front();
        }
        Ok(true)
    }

    /// From after the event with the id `after` on. An id that is none of this inbox's, for instance of one before a
    /// restart, stands for the beginning: better told twice than not at all.
    pub(super) fn excerpt(&self, after: Option<&str>) -> Excerpt {
        let known = after.and_then(|id| id.strip_prefix(&self.name)?.strip_prefix('-')?.parse().ok());
        let after = known.filter(|number| *number <= self.newest).unwrap_or(0);
        let entries: Vec<_> = self.events.iter().filter(|entry| entry.number > after).cloned().collect();
        let dropped = (self.newest - after).saturating_sub(entries.len() as u64);
        Excerpt { name: self.name.clone(), entries, newest: self.newest, dropped }
    }
}

impl Excerpt {
    /// As JSON.
    pub(super) fn text(self) -> String {
        let Self { name, entries, newest, dropped } = self;
        let id = |number: u64| format!("{name}-{number}");
        let shown = |Entry { number, event, source, wall, .. }: Entry| Shown {
            id: id(number),
            name: event.name,
            payload: serde_json::from_str(&event.payload).unwrap_or_default(),
            source,
            time: date(wall),
        };
        let events = entries.into_iter().map(shown).collect();
        let document = Document { events, next: (newest > 0).then(|| id(newest)), dropped };
        serde_json::to_string(&document).unwrap_or_default()
    }
}

impl EventSink for Shelf {
    fn emit(&self, owner: &Principal, source: Provenance, event: Event) -> Result<bool, EventError> {
        self.with(owner, |own, desk| {
            let more = Held::one(event.payload.len());
            desk.others.plus(own.held()).plus(more).within(ALL).map_err(EventError::Exhausted)?;
            let added = own.inbox.add(source, event, desk.now, desk.wall).map_err(EventError::Exhausted)?;
            if added {
                desk.changed(INBOX);
            }
            Ok(added)
        })
    }
}
