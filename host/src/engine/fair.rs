//! Who gets the next place, where there are fewer places than want one.
//!
//! Places go round as turns do in a [`Line`]. A plugin and a principal each have a ceiling below the number of places, so
//! that even calls which never end leave some to others, and a line that is full refuses at once instead of hoarding
//! requests.

use super::line::Line;
use crate::policy::{PluginId, Principal};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// How many there are, and how many of them one principal may have.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    /// In all.
    pub all: u32,
    /// Taken by one principal at a time.
    pub per_principal: u32,
    /// Waiting for one principal at a time.
    pub queue: u32,
}

/// Who wants a place, and how many of its plugin's calls may have or await one.
#[derive(Debug, Clone, PartialEq)]
pub struct Seeker {
    /// On whose behalf.
    pub principal: Principal,
    /// Which plugin.
    pub plugin: PluginId,
    /// Places of the plugin at a time.
    pub concurrent: u32,
    /// Calls of the plugin that wait for one.
    pub queue: u32,
}

/// Which line is full, and how long it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// Of those who wait for this plugin.
    Plugin(u32),
    /// Of this principal's calls that wait.
    Principal(u32),
}

/// Gives places to whoever waits for one. Clones give the same places.
#[derive(Clone)]
pub struct Fair(Arc<Mutex<Lines>>);

/// A place, until it is dropped; the next in line has it then.
pub struct Held {
    of: Option<(Fair, Seeker)>,
}

struct Lines {
    places: Places,
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
    call: oneshot::Sender<Held>,
}

impl Fair {
    /// So many places.
    pub fn new(places: Places) -> Self {
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
    pub async fn place(&self, seeker: &Seeker) -> Result<Held, Full> {
        self.seek(seeker, false).await
    }

    /// The same for somebody who had a place and has left it for a while: it goes to the head of its plugin's line, and
    /// there is always room for it, since those who are away are bounded by their own number.
    pub async fn place_again(&self, seeker: &Seeker) -> Result<Held, Full> {
        self.seek(seeker, true).await
    }

    async fn seek(&self, seeker: &Seeker, again: bool) -> Result<Held, Full> {
        let (name, called) = {
            let mut lines = self.lines();
            if lines.take(seeker) {
                return Ok(Held { of: Some((self.clone(), seeker.clone())) });
            }
            lines.join(seeker, again)?
        };
        let mut in_line = InLine { fair: self, seeker, name: Some(name) };
        match called.await {
            Ok(held) => {
                in_line.name = None;
                Ok(held)
            }
            // Nobody drops a waiter that still waits; if it were so, it would have no place and no turn.
            Err(_) => Err(Full::Plugin(seeker.queue)),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some((fair, seeker)) = self.of.take() {
            let mut lines = fair.lines();
            lines.leave(&seeker);
            lines.call_next(&fair);
        }
    }
}

/// Somebody in line, who leaves it when dropped.
struct InLine<'a> {
    fair: &'a Fair,
    seeker: &'a Seeker,
    name: Option<u64>,
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.name {
            self.fair.lines().quit(self.seeker, name);
        }
    }
}

impl Lines {
    /// Takes a place that is free. If one is, whoever waits is waiting for a ceiling and not for a place.
    fn take(&mut self, seeker: &Seeker) -> bool {
        let held = |count: Option<&Count>| count.map_or(0, |count| count.running);
        let all = held(self.principals.get(&seeker.principal));
        let below = all < self.places.per_principal && held(self.plugins.get(&seeker.plugin)) < seeker.concurrent;
        let taken = self.free > 0 && below;
        if taken {
            self.begin(&seeker.principal, &seeker.plugin);
        }
        taken
    }

    fn begin(&mut self, principal: &Principal, plugin: &PluginId) {
        self.free -= 1;
        self.of(principal).running += 1;
        self.count(plugin).running += 1;
    }

    fn leave(&mut self, seeker: &Seeker) {
        self.free += 1;
        self.of(&seeker.principal).running -= 1;
        self.count(&seeker.plugin).running -= 1;
        self.forget(&seeker.principal, &seeker.plugin);
    }

    /// Waits at the end of its line, or at the head.
    fn join(&mut self, seeker: &Seeker, again: bool) -> Result<(u64, oneshot::Receiver<Held>), Full> {
        let waiting = |count: Option<&Count>| count.map_or(0, |count| count.waiting);
        let (plugin, principal) = (self.plugins.get(&seeker.plugin), self.principals.get(&seeker.principal));
        if !again && waiting(plugin) >= seeker.queue {
            return Err(Full::Plugin(seeker.queue));
        }
        if !again && waiting(principal) >= self.places.queue {
            return Err(Full::Principal(self.places.queue));
        }
        self.next += 1;
        let (call, called) = oneshot::channel();
        let waiter = Waiter { name: self.next, concurrent: seeker.concurrent, call };
        self.count(&seeker.plugin).waiting += 1;
        self.of(&seeker.principal).waiting += 1;
        match again {
            true => self.line.join_first(&seeker.principal, &seeker.plugin, waiter),
            false => self.line.join(&seeker.principal, &seeker.plugin, waiter),
        }
        Ok((self.next, called))
    }

    /// Leaves the line; nothing when it was called already.
    fn quit(&mut self, seeker: &Seeker, name: u64) {
        if self.line.quit(&seeker.principal, &seeker.plugin, |waiter| waiter.name == name).is_some() {
            self.waits_no_more(&seeker.principal, &seeker.plugin);
        }
    }

    fn waits_no_more(&mut self, principal: &Principal, plugin: &PluginId) {
        self.count(plugin).waiting -= 1;
        self.of(principal).waiting -= 1;
        self.forget(principal, plugin);
    }

    /// Gives free places to those whose turn it is.
    fn call_next(&mut self, fair: &Fair) {
        while self.free > 0
            && let Some((principal, plugin, waiter)) = self.next()
        {
            let seeker = Seeker { principal, plugin, concurrent: waiter.concurrent, queue: 0 };
            self.begin(&seeker.principal, &seeker.plugin);
            self.waits_no_more(&seeker.principal, &seeker.plugin);
            if let Err(mut unheard) = waiter.call.send(Held { of: Some((fair.clone(), seeker)) })
                && let Some((_, seeker)) = unheard.of.take()
            {
                // It stops waiting at this very moment.
                self.leave(&seeker);
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
