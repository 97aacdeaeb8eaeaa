//! `events`: what guests write to inboxes.

use super::inbox::INBOX;
use super::item::Item;
use super::quota::{MAX_TOTAL, Usage};
use super::store::PrincipalStore;
use super::unsaved::Over;
use policy::Principal;
use runtime::imports::{EventError, EventSink, PluginEvent, Provenance};

impl EventSink for PrincipalStore {
    fn emit(&self, owner: &Principal, source: Provenance, event: PluginEvent) -> Result<bool, EventError> {
        self.with_writer(owner, |own, context| {
            let more = Usage::one(event.payload.len());
            context.others.plus(own.usage()).plus(more).within(MAX_TOTAL).map_err(EventError::Exhausted)?;
            let added = own.inbox.add(source, event, context.now, context.wall).map_err(EventError::Exhausted)?;
            if added {
                context.changed(INBOX);
                context.store(Item::Inbox, Over::Known);
            }
            Ok(added)
        })
    }
}
