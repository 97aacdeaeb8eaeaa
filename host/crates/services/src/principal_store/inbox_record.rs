//! What is stored of an inbox, and how a process continues from what another one has stored of the same inbox.

use super::context::MAX_AGE;
use super::inbox::{Inbox, InboxEntry, InboxSender};
use super::moment::{Moment, from_millis, millis};
use super::source_record::{SourceRecord, data_key};
use policy::{DataKey, PrivateOrigins};
use runtime::imports::{PluginEvent, Provenance};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(super) struct InboxRecord {
    name: String,
    pub(super) newest: u64,
    events: Vec<EventRecord>,
    /// Oldest first, for each sender.
    seen: Vec<SeenRecord>,
}

#[derive(Serialize, Deserialize)]
struct EventRecord {
    number: u64,
    event: PluginEvent,
    source: SourceRecord,
    time: u64,
    expires: u64,
}

/// A deduplication key.
#[derive(Serialize, Deserialize)]
struct SeenRecord {
    /// The key of the plugin's data; the plugin's name, if an earlier version has written it.
    plugin: String,
    knows: PrivateOrigins,
    event: String,
    key: String,
    expires: u64,
}

impl Inbox {
    /// None if there is nothing to keep.
    pub(super) fn to_record(&self, moment: Moment) -> Option<InboxRecord> {
        if self.is_empty() {
            return None;
        }
        let events = self.events.iter().map(|InboxEntry { number, event, source, wall, expires, is_hidden: _ }| {
            let (time, expires) = (millis(*wall), moment.date(*expires));
            EventRecord { number: *number, event: event.clone(), source: source.into(), time, expires }
        });
        let seen = self.senders.iter().flat_map(|((data, knows), sender)| {
            sender.seen.iter().map(|(event, key, until)| SeenRecord {
                plugin: data.to_string(),
                knows: knows.clone(),
                event: event.clone(),
                key: key.clone(),
                expires: moment.date(*until),
            })
        });
        let (name, newest) = (self.name.clone(), self.newest);
        Some(InboxRecord { name, newest, events: events.collect(), seen: seen.collect() })
    }

    /// Reads a record, without what has expired. Events of plugins that are not there are kept but not shown.
    pub(super) fn from_record(record: InboxRecord, moment: Moment, is_there: &dyn Fn(&DataKey) -> bool) -> Self {
        let InboxRecord { name, newest, events, seen } = record;
        // Whatever number is stored, there must be numbers left for later events.
        let newest = newest.min(u64::MAX / 2);
        let mut inbox = Self { name, newest, stored: newest, ..Self::default() };
        for EventRecord { number, event, source, time, expires } in events {
            let (Some(expires), Some(wall)) = (moment.end(expires, MAX_AGE), from_millis(time)) else { continue };
            let source = Provenance::from(source);
            let is_hidden = !is_there(&source.data);
            inbox.events.push_back(InboxEntry { number, event, source, wall, expires, is_hidden });
        }
        for SeenRecord { plugin, knows, event, key, expires } in seen {
            let Some(until) = moment.end(expires, MAX_AGE) else { continue };
            let sender =
                inbox.senders.entry((data_key(&plugin), knows)).or_insert_with(|| InboxSender::new(moment.now));
            sender.remember(event, key, until);
        }
        inbox.shrink();
        inbox
    }

    /// Continues from what another process has stored, and adds the events that only this process has, under new numbers.
    /// Events that both have are not added twice.
    pub(super) fn go_on_from(&mut self, other: Self) {
        let here = std::mem::replace(self, other);
        let is_there = |entry: &InboxEntry| {
            let same = |there: &InboxEntry| {
                (there.number, &there.event, &there.source) == (entry.number, &entry.event, &entry.source)
            };
            self.name == here.name && self.events.iter().any(same)
        };
        // This process may have stored some of them itself without learning of it.
        let mut unsaved: Vec<_> =
            here.events.into_iter().filter(|entry| entry.number > here.stored && !is_there(entry)).collect();
        if let Some(first) = unsaved.first() {
            // Clients may have seen other events under these numbers, so the inbox gets another name.
            self.name = Self::name_after(&first.source);
        }
        unsaved.retain(|entry| !self.has_seen(&entry.source, &entry.event));
        for (writer, InboxSender { bucket, seen }) in here.senders {
            let sender = self.senders.entry(writer).or_insert_with(|| InboxSender { bucket, seen: Default::default() });
            sender.bucket = bucket;
            for (event, key, until) in seen {
                if !sender.seen.iter().any(|(name, there, _)| (name, there) == (&event, &key)) {
                    sender.remember(event, key, until);
                }
            }
        }
        for entry in unsaved {
            self.newest += 1;
            self.events.push_back(InboxEntry { number: self.newest, ..entry });
        }
        self.shrink();
    }
}
