//! Who gets the next place, where there are fewer places than want one.
//!
//! SlotLimits go round as turns do in a [`Line`]. A plugin and a principal each have a ceiling below the number of places, so
//! that even calls which never end leave some to others, and a line that is full refuses at once instead of hoarding
//! requests.

use super::line::Line;
use policy::{PluginId, Principal};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// How many there are, and how many of them one principal may have.
#[derive(Debug, Clone, Copy)]
pub struct SlotLimits {
    /// In all.
    pub all: u32,
    /// Taken by one principal at a time.
    pub per_principal: u32,
    /// Waiting for one principal at a time.
    pub queue: u32,
}

/// Who wants a place, and how many of its plugin's calls may have or await one.
#[derive(Debug, Clone, PartialEq)]
pub struct SlotRequest {
    /// On whose behalf.
    pub principal: Principal,
    /// Which plugin.
    pub plugin: PluginId,
    /// SlotLimits of the plugin at a time.
    pub concurrent: u32,
    /// Calls of the plugin that wait for one.
    pub queue: u32,
}

/// Which line is full, and how long it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueFull {
    /// Of those who wait for this plugin.
    Plugin(u32),
    /// Of this principal's calls that wait.
    Principal(u32),
}

/// Gives places to whoever waits for one. Clones give the same places.
#[derive(Clone)]
pub struct FairSemaphore(Arc<Mutex<Lines>>);

/// A place, until it is dropped; the next in line has it then.
pub struct Slot {
    of: Option<(FairSemaphore, SlotRequest)>,
}

struct Lines {
    places: SlotLimits,
    free: u32,
    /// Names of those who wait: a number each, never used twice.
    next: u64,
    principals: HashMap<Principal, Count>,
    plugins: HashMap<PluginId, Count>,
    line: Line<Waiter>,
}

#[derive(Default)]
struct Count {
    running: u32,
    waiting: u32,
}

struct Waiter {
    name: u64,
    concurrent: u32,
    call: oneshot::Sender<Slot>,
}

impl FairSemaphore {
    /// So many places.
    pub fn new(places: SlotLimits) -> Self {
        let (principals, plugins, line) = Default::default();
        Self(Arc::new(Mutex::new(Lines { places, free: places.all, next: 0, principals, plugins, line })))
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether every place is free.
    pub fn is_idle(&self) -> bool {
        self.taken() == 0
    }

    /// How many places are not free.
    pub fn taken(&self) -> u32 {
        let lines = self.lines();
        lines.places.all.saturating_sub(lines.free)
    }

    /// A place, as soon as it is this one's turn; who stops waiting has left the line.
    pub async fn place(&self, slot_request: &SlotRequest) -> Result<Slot, QueueFull> {
        self.seek(slot_request, false).await
    }

    /// The same for somebody who had a place and has left it for a while: it goes to the head of its plugin's line, and
    /// there is always room for it, since those who are away are bounded by their own number.
    pub async fn place_again(&self, slot_request: &SlotRequest) -> Result<Slot, QueueFull> {
        self.seek(slot_request, true).await
    }

    async fn seek(&self, slot_request: &SlotRequest, again: bool) -> Result<Slot, QueueFull> {
        let (name, called) = {
            let mut lines = self.lines();
            if lines.take(slot_request) {
                return Ok(Slot { of: Some((self.clone(), slot_request.clone())) });
            }
            lines.join(slot_request, again)?
        };
        let mut in_line = InLine { fair: self, slot_request, name: Some(name) };
        match called.await {
            Ok(held) => {
                in_line.name = None;
                Ok(held)
            }
            // Nobody drops a waiter that still waits; if it were so, it would have no place and no turn.
            Err(_) => Err(QueueFull::Plugin(slot_request.queue)),
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some((fair, slot_request)) = self.of.take() {
            let mut lines = fair.lines();
            lines.leave(&slot_request);
            lines.call_next(&fair);
        }
    }
}

/// Somebody in line, who leaves it when dropped.
struct InLine<'a> {
    fair: &'a FairSemaphore,
    slot_request: &'a SlotRequest,
    name: Option<u64>,
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.name {
            self.fair.lines().quit(self.slot_request, name);
        }
    }
}

impl Lines {
    /// Takes a place that is free. If one is, whoever waits is waiting for a ceiling and not for a place.
    fn take(&mut self, slot_request: &SlotRequest) -> bool {
        let held = |count: Option<&Count>| count.map_or(0, |count| count.running);
        let all = held(self.principals.get(&slot_request.principal));
        let below = all < self.places.per_principal && held(self.plugins.get(&slot_request.plugin)) < slot_request.concurrent;
        let taken = self.free > 0 && below;
        if taken {
            self.begin(&slot_request.principal, &slot_request.plugin);
        }
        taken
    }

    fn begin(&mut self, principal: &Principal, plugin: &PluginId) {
        self.free -= 1;
        self.of(principal).running += 1;
        self.count(plugin).running += 1;
    }

    fn leave(&mut self, slot_request: &SlotRequest) {
        self.free += 1;
        self.of(&slot_request.principal).running -= 1;
        self.count(&slot_request.plugin).running -= 1;
        self.forget(&slot_request.principal, &slot_request.plugin);
    }

    /// Waits at the end of its line, or at the head.
    fn join(&mut self, slot_request: &SlotRequest, again: bool) -> Result<(u64, oneshot::Receiver<Slot>), QueueFull> {
        let waiting = |count: Option<&Count>| count.map_or(0, |count| count.waiting);
        let (plugin, principal) = (self.plugins.get(&slot_request.plugin), self.principals.get(&slot_request.principal));
        if !again && waiting(plugin) >= slot_request.queue {
            return Err(QueueFull::Plugin(slot_request.queue));
        }
        if !again && waiting(principal) >= self.places.queue {
            return Err(QueueFull::Principal(self.places.queue));
        }
        self.next += 1;
        let (call, called) = oneshot::channel();
        let waiter = Waiter { name: self.next, concurrent: slot_request.concurrent, call };
        self.count(&slot_request.plugin).waiting += 1;
        self.of(&slot_request.principal).waiting += 1;
        match again {
            true => self.line.join_first(&slot_request.principal, &slot_request.plugin, waiter),
            false => self.line.join(&slot_request.principal, &slot_request.plugin, waiter),
        }
        Ok((self.next, called))
    }

    /// Leaves the line; nothing when it was called already.
    fn quit(&mut self, slot_request: &SlotRequest, name: u64) {
        if self.line.quit(&slot_request.principal, &slot_request.plugin, |waiter| waiter.name == name).is_some() {
            self.waits_no_more(&slot_request.principal, &slot_request.plugin);
        }
    }

    fn waits_no_more(&mut self, principal: &Principal, plugin: &PluginId) {
        self.count(plugin).waiting -= 1;
        self.of(principal).waiting -= 1;
        self.forget(principal, plugin);
    }

    /// Gives free places to those whose turn it is.
    fn call_next(&mut self, fair: &FairSemaphore) {
        while self.free > 0
            && let Some((principal, plugin, waiter)) = self.next()
        {
            let slot_request = SlotRequest { principal, plugin, concurrent: waiter.concurrent, queue: 0 };
            self.begin(&slot_request.principal, &slot_request.plugin);
            self.waits_no_more(&slot_request.principal, &slot_request.plugin);
            if let Err(mut unheard) = waiter.call.send(Slot { of: Some((fair.clone(), slot_request)) })
                && let Some((_, slot_request)) = unheard.of.take()
            {
                // It stops waiting at this very moment.
                self.leave(&slot_request);
            }
        }
    }

    /// Whose turn it is among those who are below their ceilings.
    fn next(&mut self) -> Option<(Principal, PluginId, Waiter)> {
        let (places, principals, plugins) = (&self.places, &self.principals, &self.plugins);
        self.line.next(
            |principal| principals.get(principal).is_none_or(|count| count.running < places.per_principal),
            |plugin, waiter| plugins.get(plugin).is_none_or(|count| count.running < waiter.concurrent),
        )
    }

    fn of(&mut self, principal: &Principal) -> &mut Count {
        self.principals.entry(principal.clone()).or_default()
    }

    fn count(&mut self, plugin: &PluginId) -> &mut Count {
        self.plugins.entry(plugin.clone()).or_default()
    }

    /// Keeps nothing of those who have nothing.
    fn forget(&mut self, principal: &Principal, plugin: &PluginId) {
        let nothing = |count: &Count| count.running == 0 && count.waiting == 0;
        if self.principals.get(principal).is_some_and(nothing) {
            self.principals.remove(principal);
        }
        if self.plugins.get(plugin).is_some_and(nothing) {
            self.plugins.remove(plugin);
        }
    }
}

#[cfg(test)]
mod tests;
