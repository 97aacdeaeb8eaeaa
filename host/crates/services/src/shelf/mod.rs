//! What calls leave behind for their principal: published resources and prompts, an inbox of events, logs of runs.
//!
//! In memory only, bounded at every level, and gone when its time is up or the host restarts. Everything is kept under
//! its principal and looked up there and nowhere else, so what is somebody else's is just not there. The clients' side
//! is the plain read half in `read`; what speaks to guests are the traits of `imports`.

mod inbox;
mod owner;
mod prompts;
mod quota;
mod read;
mod resources;
mod runs;

pub use prompts::{FillError, Filled, ListedPrompt};
pub use read::{INBOX, Listed, Reading, TEMPLATES, Template};
pub use runs::{CHUNK_ORIGIN, Run, RunLog};

use owner::Owner;
use platform::changes::{Change, Changes};
use platform::clock::Clock;
use policy::Principal;
use quota::Held;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How long anything stays that nobody changes, unless its plugin says less. Bounds what principals leave behind that
/// never come back.
const STAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How often what has expired is looked for among the principals that do not come by themselves.
const SWEEP: Duration = Duration::from_secs(60);

/// What calls left behind, everybody's.
pub struct Shelf {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
    changes: Changes,
}

struct State {
    owners: BTreeMap<Principal, Owner>,
    /// The sum over all owners.
    held: Held,
    next_sweep: Instant,
}

/// What a piece of work on one owner's things is told, and what it tells.
struct Desk<'a> {
    owner: &'a Principal,
    now: Instant,
    wall: SystemTime,
    /// What all other owners hold.
    others: Held,
    news: &'a mut Vec<Change>,
}

impl Desk<'_> {
    /// What is in a resource has changed.
    fn changed(&mut self, uri: &str) {
        self.news.push(Change::Resource(Some(self.owner.clone()), uri.to_owned()));
    }

    /// The list of resources has changed.
    fn resources_changed(&mut self) {
        self.news.push(Change::Resources(Some(self.owner.clone())));
    }

    /// The list of prompts has changed.
    fn prompts_changed(&mut self) {
        self.news.push(Change::Prompts(Some(self.owner.clone())));
    }
}

impl Shelf {
    /// Empty; tells what changes to `changes`.
    pub fn new(clock: Arc<dyn Clock>, changes: Changes) -> Self {
        let next_sweep = clock.now() + SWEEP;
        let state = State { owners: BTreeMap::new(), held: Held::default(), next_sweep };
        Self { state: Mutex::new(state), clock, changes }
    }

    /// Works on one owner's things; what has expired is gone before, and changes are told after.
    fn with<R>(&self, owner: &Principal, work: impl FnOnce(&mut Owner, &mut Desk<'_>) -> R) -> R {
        let (now, wall) = (self.clock.now(), self.clock.wall());
        let mut news = Vec::new();
        let result = {
            // A panic while the lock was held leaves a shelf that is at worst counted wrong; the sweep counts anew.
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.sweep(now, &mut news);
            let State { owners, held, .. } = &mut *state;
            let own = owners.entry(owner.clone()).or_default();
            let others = held.less(own.held());
            let mut desk = Desk { owner, now, wall, others, news: &mut news };
            own.expire(&mut desk);
            let result = work(own, &mut desk);
            *held = others.plus(own.held());
            if own.is_idle(now) {
                owners.remove(owner);
            }
            result
        };
        for change in news {
            self.changes.send(change);
        }
        result
    }
}

impl State {
    /// Once in a while, takes out what has expired everywhere.
    fn sweep(&mut self, now: Instant, news: &mut Vec<Change>) {
        // A full shelf looks at once: what others left may be what is in the way.
        if now < self.next_sweep && !self.held.is_full() {
            return;
        }
        self.next_sweep = now + SWEEP;
        for (owner, own) in &mut self.owners {
            let (wall, others) = (SystemTime::UNIX_EPOCH, Held::default());
            own.expire(&mut Desk { owner, now, wall, others, news });
        }
        self.owners.retain(|_, own| !own.is_idle(now));
        self.held = self.owners.values().fold(Held::default(), |sum, own| sum.plus(own.held()));
    }
}

/// As a calendar says it.
fn date(wall: SystemTime) -> String {
    humantime::format_rfc3339_millis(wall).to_string()
}

#[cfg(test)]
mod tests;
