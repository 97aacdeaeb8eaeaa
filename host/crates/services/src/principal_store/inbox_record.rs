//! What is stored of an inbox, and going on from what another process has stored of the same one.

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
    /// The key of its data; its name, if an earlier version has written it.
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

    /// Without what is over. Events of plugins that are not there are kept and not shown.
    pub(super) fn from_record(record: InboxRecord, moment: Moment, is_there: &dyn Fn(&DataKey) -> bool) -> Self {
        let InboxRecord { name, newest, events, seen } = record;
        // There is a number for the next event, whatever is stored.
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

    /// Goes on from what another process has stored, with the events that only this one has, under new numbers. Events that the
    /// other one has, too, are not there twice.
    pub(super) fn go_on_from(&mut self, other: Self) {
        let here = std::mem::replace(self, other);
        let is_there = |entry: &InboxEntry| {
            let same = |there: &InboxEntry| {
                (there.number, &there.event, &there.source) == (entry.number, &entry.event, &entry.source)
            };
            self.name == here.name && self.events.iter().any(same)
        };
        // It may be this process that has stored them, and has not heard of it.
        let mut unsaved: Vec<_> =
            here.events.into_iter().filter(|entry| entry.number > here.stored && !is_there(entry)).collect();
        if let Some(first) = unsaved.first() {
            // Clients were told other events under these numbers.
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
