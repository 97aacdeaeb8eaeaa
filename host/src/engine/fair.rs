//! Who gets the next place, where there are fewer places than want one.
//!
//! Places go round: from principal to principal, since nobody may pay for another's haste, and of one principal from
//! plugin to plugin, so that a plugin with many calls delays itself and not its neighbours. Within one plugin of one
//! principal, who came first goes first. A plugin and a principal each have a ceiling below the number of places, so that
//! even calls which never end leave some to others, and a line that is full refuses at once instead of hoarding requests.

use crate::policy::{PluginId, Principal};
use std::collections::{HashMap, VecDeque};
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
    principals: HashMap<Principal, Share>,
    plugins: HashMap<PluginId, Count>,
    /// Principals with somebody in line, in the order of their turns.
    turns: VecDeque<Principal>,
}

#[derive(Default)]
struct Count {
    running: u32,
    waiting: u32,
}

/// What one principal has, and the lines of its plugins.
#[derive(Default)]
struct Share {
    count: Count,
    lines: HashMap<PluginId, VecDeque<Waiter>>,
    /// Plugins with somebody in line, in the order of their turns.
    turns: VecDeque<PluginId>,
}

struct Waiter {
    name: u64,
    concurrent: u32,
    call: oneshot::Sender<Held>,
}

impl Fair {
    /// So many places.
    pub fn new(places: Places) -> Self {
        let (principals, plugins, turns) = Default::default();
        Self(Arc::new(Mutex::new(Lines { places, free: places.all, next: 0, principals, plugins, turns })))
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
        let all = held(self.principals.get(&seeker.principal).map(|share| &share.count));
        let below = all < self.places.per_principal && held(self.plugins.get(&seeker.plugin)) < seeker.concurrent;
        let taken = self.free > 0 && below;
        if taken {
            self.begin(&seeker.principal, &seeker.plugin);
        }
        taken
    }

    fn begin(&mut self, principal: &Principal, plugin: &PluginId) {
        self.free -= 1;
        self.share(principal).count.running += 1;
        self.count(plugin).running += 1;
    }

    fn leave(&mut self, seeker: &Seeker) {
        self.free += 1;
        self.share(&seeker.principal).count.running -= 1;
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
        if !again && waiting(principal.map(|share| &share.count)) >= self.places.queue {
            return Err(Full::Principal(self.places.queue));
        }
        self.next += 1;
        let (call, called) = oneshot::channel();
        let waiter = Waiter { name: self.next, concurrent: seeker.concurrent, call };
        self.count(&seeker.plugin).waiting += 1;
        let share = self.share(&seeker.principal);
        share.count.waiting += 1;
        let first_of_all = share.turns.is_empty();
        let line = share.lines.entry(seeker.plugin.clone()).or_default();
        if line.is_empty() {
            share.turns.push_back(seeker.plugin.clone());
        }
        match again {
            true => line.push_front(waiter),
            false => line.push_back(waiter),
        }
        if first_of_all {
            self.turns.push_back(seeker.principal.clone());
        }
        Ok((self.next, called))
    }

    /// Leaves the line; nothing when it was called already.
    fn quit(&mut self, seeker: &Seeker, name: u64) {
        let Some(share) = self.principals.get_mut(&seeker.principal) else { return };
        let Some(line) = share.lines.get_mut(&seeker.plugin) else { return };
        let Some(at) = line.iter().position(|waiter| waiter.name == name) else { return };
        line.remove(at);
        if line.is_empty() {
            share.lines.remove(&seeker.plugin);
            share.turns.retain(|plugin| *plugin != seeker.plugin);
        }
        self.waits_no_more(&seeker.principal, &seeker.plugin);
    }

    fn waits_no_more(&mut self, principal: &Principal, plugin: &PluginId) {
        self.count(plugin).waiting -= 1;
        let share = self.share(principal);
        share.count.waiting -= 1;
        if share.turns.is_empty() {
            self.turns.retain(|turn| turn != principal);
        }
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
        for _ in 0..self.turns.len() {
            let principal = self.turns.pop_front()?;
            let called = match self.principals.get_mut(&principal) {
                Some(share) if share.count.running < self.places.per_principal => share.next(&self.plugins),
                _ => None,
            };
            self.turns.push_back(principal.clone());
            if let Some((plugin, waiter)) = called {
                return Some((principal, plugin, waiter));
            }
        }
        None
    }

    fn share(&mut self, principal: &Principal) -> &mut Share {
        self.principals.entry(principal.clone()).or_default()
    }

    fn count(&mut self, plugin: &PluginId) -> &mut Count {
        self.plugins.entry(plugin.clone()).or_default()
    }

    /// Keeps nothing of those who have nothing.
    fn forget(&mut self, principal: &Principal, plugin: &PluginId) {
        let nothing = |count: &Count| count.running == 0 && count.waiting == 0;
        if self.principals.get(principal).is_some_and(|share| nothing(&share.count)) {
            self.principals.remove(principal);
        }
        if self.plugins.get(plugin).is_some_and(nothing) {
            self.plugins.remove(plugin);
        }
    }
}

impl Share {
    fn next(&mut self, plugins: &HashMap<PluginId, Count>) -> Option<(PluginId, Waiter)> {
        for _ in 0..self.turns.len() {
            let plugin = self.turns.pop_front()?;
            let running = plugins.get(&plugin).map_or(0, |count| count.running);
            let line = self.lines.get_mut(&plugin);
            let called = line.and_then(|line| line.pop_front_if(|waiter| running < waiter.concurrent));
            match self.lines.get(&plugin).is_some_and(|line| !line.is_empty()) {
                true => self.turns.push_back(plugin.clone()),
                false => drop(self.lines.remove(&plugin)),
            }
            if let Some(waiter) = called {
                return Some((plugin, waiter));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
