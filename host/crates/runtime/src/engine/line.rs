//! A line in which turns go round: from principal to principal, since nobody may pay for another's haste, and of one
//! principal from plugin to plugin, so that a plugin with much to do delays itself and not its neighbours. Within one
//! plugin of one principal, who came first goes first.

use policy::{PluginId, Principal};
use std::collections::{HashMap, VecDeque};

/// Those who wait.
pub(super) struct Line<T> {
    principals: HashMap<Principal, Share<T>>,
    /// Principals with somebody in line, in the order of their turns.
    turns: VecDeque<Principal>,
}

/// Those who wait for one principal.
struct Share<T> {
    plugins: HashMap<PluginId, VecDeque<T>>,
    /// Plugins with somebody in line, in the order of their turns.
    turns: VecDeque<PluginId>,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { principals: HashMap::new(), turns: VecDeque::new() }
    }
}

impl<T> Default for Share<T> {
    fn default() -> Self {
        Self { plugins: HashMap::new(), turns: VecDeque::new() }
    }
}

impl<T> Line<T> {
    /// At the end of its plugin's line.
    pub(super) fn join(&mut self, principal: &Principal, plugin: &PluginId, who: T) {
        self.line(principal, plugin).push_back(who);
    }

    /// At the head of its plugin's line.
    pub(super) fn join_first(&mut self, principal: &Principal, plugin: &PluginId, who: T) {
        self.line(principal, plugin).push_front(who);
    }

    fn line(&mut self, principal: &Principal, plugin: &PluginId) -> &mut VecDeque<T> {
        let share = self.principals.entry(principal.clone()).or_default();
        if share.turns.is_empty() {
            self.turns.push_back(principal.clone());
        }
        let line = share.plugins.entry(plugin.clone()).or_default();
        if line.is_empty() {
            share.turns.push_back(plugin.clone());
        }
        line
    }

    /// Takes one out of the line before its turn.
    pub(super) fn quit(&mut self, principal: &Principal, plugin: &PluginId, is: impl Fn(&T) -> bool) -> Option<T> {
        let share = self.principals.get_mut(principal)?;
        let line = share.plugins.get_mut(plugin)?;
        let who = line.remove(line.iter().position(is)?)?;
        if line.is_empty() {
            share.plugins.remove(plugin);
            share.turns.retain(|turn| turn != plugin);
        }
        if share.turns.is_empty() {
            self.principals.remove(principal);
            self.turns.retain(|turn| turn != principal);
        }
        Some(who)
    }

    /// How many wait. Everybody who waits has a turn, and nobody else has.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        assert_eq!(self.turns.len(), self.principals.len());
        assert!(self.turns.iter().all(|turn| self.principals.contains_key(turn)));
        for share in self.principals.values() {
            assert!(!share.turns.is_empty() && share.turns.len() == share.plugins.len());
            assert!(share.turns.iter().all(|turn| share.plugins.get(turn).is_some_and(|line| !line.is_empty())));
        }
        self.principals.values().flat_map(|share| share.plugins.values()).map(VecDeque::len).sum()
    }

    /// Whose turn it is, among those who may have one now.
    pub(super) fn next(
        &mut self,
        may: impl Fn(&Principal) -> bool,
        can: impl Fn(&PluginId, &T) -> bool,
    ) -> Option<(Principal, PluginId, T)> {
        for _ in 0..self.turns.len() {
            let principal = self.turns.pop_front()?;
            let share = self.principals.get_mut(&principal)?;
            let called = if may(&principal) { share.next(&can) } else { None };
            match share.turns.is_empty() {
                true => drop(self.principals.remove(&principal)),
                false => self.turns.push_back(principal.clone()),
            }
            if let Some((plugin, who)) = called {
                return Some((principal, plugin, who));
            }
        }
        None
    }
}

impl<T> Share<T> {
    fn next(&mut self, can: impl Fn(&PluginId, &T) -> bool) -> Option<(PluginId, T)> {
        for _ in 0..self.turns.len() {
            let plugin = self.turns.pop_front()?;
            let line = self.plugins.get_mut(&plugin)?;
            let called = line.pop_front_if(|who| can(&plugin, who));
            match line.is_empty() {
                true => drop(self.plugins.remove(&plugin)),
                false => self.turns.push_back(plugin.clone()),
            }
            if let Some(who) = called {
                return Some((plugin, who));
            }
        }
        None
    }
}
