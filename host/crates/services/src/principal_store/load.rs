//! Reads what earlier processes have stored, before anything is served.

use super::context::OwnerContext;
use super::inbox::Inbox;
use super::item::{Item, OwnedItem, RECORDS};
use super::keeper::Keeper;
use super::moment::Moment;
use super::owner::OwnerData;
use super::prompt::full_name;
use super::quota::{MAX_TOTAL, Usage};
use super::record::{PrincipalRecord, StoredContent};
use super::save::run;
use super::store::PrincipalStore;
use platform::durable::{self, Durability, DurableError, DurableStore, Expected, Key};
use policy::{DataKey, DistinctNames};
use std::sync::Arc;

/// Records of a page of the list.
const PAGE: u32 = 200;
/// The most that is read, which is several times as much as one process keeps. Bounds how long a server takes to start,
/// whatever other processes have left in the store.
const MOST: Usage = Usage { items: 4 * MAX_TOTAL.items, bytes: 4 * MAX_TOTAL.bytes };

/// What becomes of a stored item.
enum Fate {
    Loaded,
    /// Its time is over.
    Expired,
    /// Its plugin is not there. It stays in the store, for a process that has the plugin.
    Hidden,
    /// It stays in the store, until its time is over or there is room at a start.
    NoRoom,
    Unreadable,
}

impl PrincipalStore {
    /// Loads what is stored, and stores what changes from now on. `is_there` returns whether there is a plugin with this data;
    /// what other plugins have published is not shown.
    pub async fn keep_in(
        self: &Arc<Self>,
        store: Arc<dyn DurableStore>,
        is_there: impl Fn(&DataKey) -> bool + Send + Sync + 'static,
    ) {
        let keeper = self.keeper.get_or_init(|| Keeper::new(store, Box::new(is_there)));
        self.state.lock().unsaved.is_kept = true;
        if let Err(error) = self.load(keeper).await {
            tracing::error!(%error, "what plugins have published earlier cannot be read");
        }
        tokio::spawn(run(Arc::downgrade(self)));
    }

    async fn load(&self, keeper: &Keeper) -> Result<(), DurableError> {
        let Ok(all) = Key::new(RECORDS) else { return Ok(()) };
        let (mut after, mut read, mut unreadable, mut no_room) = (None, Usage::default(), 0_u64, 0_u64);
        while read.within(MOST).is_ok() {
            let page = keeper.store.list(&all, after.as_ref(), PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            for (key, record) in page {
                read = read.plus(Usage::one(record.value.len()));
                match self.take_in(keeper, &key, &record) {
                    Fate::Loaded | Fate::Hidden => {}
                    Fate::NoRoom => no_room += 1,
                    Fate::Unreadable => unreadable += 1,
                    // Another process may have given it more time.
                    Fate::Expired => {
                        match keeper.store.remove(&key, Expected::At(record.revision), Durability::Process).await {
                            Ok(()) | Err(DurableError::Conflict(_)) => {}
                            Err(error) => return Err(error),
                        }
                    }
                }
            }
        }
        let owners: Vec<_> = self.state.lock().owners.keys().cloned().collect();
        for owner in owners {
            no_room += self.with_owner(&owner, OwnerData::leave_out_clashes);
        }
        if unreadable > 0 || no_room > 0 {
            tracing::warn!(unreadable, no_room, "not everything is there that plugins have published");
        }
        Ok(())
    }

    fn take_in(&self, keeper: &Keeper, key: &Key, stored: &durable::Record) -> Fate {
        let Some(record) = PrincipalRecord::from_bytes(&stored.value) else { return Fate::Unreadable };
        let item = record.item();
        if item.key().ok().as_ref() != Some(key) {
            return Fate::Unreadable;
        }
        let moment = Moment { now: self.clock.now(), wall: self.clock.wall() };
        self.with_owner(&item.owner, |own, context| {
            let fate = own.take_in(record.content, context.others, moment, &keeper.is_there);
            if let Fate::Loaded = fate {
                context.unsaved.set_stored(&item, Some(stored.revision));
            }
            fate
        })
    }
}

impl OwnerData {
    /// Adds a stored item, with the same limits as if it were published now.
    fn take_in(
        &mut self,
        content: StoredContent,
        others: Usage,
        moment: Moment,
        is_there: &dyn Fn(&DataKey) -> bool,
    ) -> Fate {
        let none = Usage::default();
        match content {
            StoredContent::Resource(record) => {
                let Some((tail, resource)) = record.into_stored(moment) else { return Fate::Expired };
                if !is_there(&resource.source.data) {
                    return Fate::Hidden;
                }
                if self.check_quota(others, &resource.source, none, resource.usage()).is_err() {
                    return Fate::NoRoom;
                }
                self.resources.insert(tail, resource);
            }
            StoredContent::Prompt(record) => {
                let Some(prompt) = record.into_stored(moment) else { return Fate::Expired };
                if !is_there(&prompt.source.data) {
                    return Fate::Hidden;
                }
                if self.check_quota(others, &prompt.source, none, prompt.usage()).is_err() {
                    return Fate::NoRoom;
                }
                self.prompts.insert(full_name(&prompt.source.plugin, &prompt.prompt.name), prompt);
            }
            StoredContent::Inbox(record) => {
                let inbox = Inbox::from_record(record, moment, is_there);
                if inbox.is_empty() {
                    return Fate::Expired;
                }
                if others.plus(self.usage()).plus(inbox.usage()).within(MAX_TOTAL).is_err() {
                    return Fate::NoRoom;
                }
                self.inbox = inbox;
            }
        }
        Fate::Loaded
    }

    /// Leaves out prompts that clients could take for an earlier one, because two processes may have published them. All
    /// prompts are checked in one pass, since each name is compared with all others.
    fn leave_out_clashes(&mut self, context: &mut OwnerContext<'_>) -> u64 {
        let (mut names, before) = (DistinctNames::default(), self.prompts.len());
        self.prompts.retain(|name, prompt| {
            let is_distinct = names.insert(name, &prompt.source.plugin).is_ok();
            if !is_distinct {
                let item = OwnedItem { owner: context.owner.clone(), item: Item::Prompt(name.clone()) };
                context.unsaved.set_stored(&item, None);
            }
            is_distinct
        });
        before.saturating_sub(self.prompts.len()) as u64
    }
}
