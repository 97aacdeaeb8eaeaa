//! A queue that is served round-robin: by principal, and for each principal by plugin.
//!
//! A principal is never delayed by the number of another principal's entries, and a plugin with many entries delays
//! only itself. Entries of one plugin of one principal are served first in, first out.

use policy::{PluginId, Principal};
use std::collections::{HashMap, VecDeque};

pub(super) struct FairQueue<T> {
    principals: HashMap<Principal, PrincipalQueue<T>>,
    /// Principals with entries, in the order of their turns.
    turns: VecDeque<Principal>,
}

struct PrincipalQueue<T> {
    plugins: HashMap<PluginId, VecDeque<T>>,
    /// Plugins with entries, in the order of their turns.
    turns: VecDeque<PluginId>,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self { principals: HashMap::new(), turns: VecDeque::new() }
    }
}

impl<T> Default for PrincipalQueue<T> {
    fn default() -> Self {
        Self { plugins: HashMap::new(), turns: VecDeque::new() }
    }
}

impl<T> FairQueue<T> {
    /// Appends to the entries of its plugin.
    pub(super) fn push_back(&mut self, principal: &Principal, plugin: &PluginId, entry: T) {
        self.plugin_queue(principal, plugin).push_back(entry);
    }

    /// Inserts before the other entries of its plugin.
    pub(super) fn push_front(&mut self, principal: &Principal, plugin: &PluginId, entry: T) {
        self.plugin_queue(principal, plugin).push_front(entry);
    }

    /// The queue of one plugin, which the caller must not leave empty.
    fn plugin_queue(&mut self, principal: &Principal, plugin: &PluginId) -> &mut VecDeque<T> {
        let principal_queue = self.principals.entry(principal.clone()).or_default();
        if principal_queue.turns.is_empty() {
            self.turns.push_back(principal.clone());
        }
        let queue = principal_queue.plugins.entry(plugin.clone()).or_default();
        if queue.is_empty() {
            principal_queue.turns.push_back(plugin.clone());
        }
        queue
    }

    /// Removes the first entry of this plugin that matches.
    pub(super) fn remove(
        &mut self,
        principal: &Principal,
        plugin: &PluginId,
        matches: impl Fn(&T) -> bool,
    ) -> Option<T> {
        let principal_queue = self.principals.get_mut(principal)?;
        let queue = principal_queue.plugins.get_mut(plugin)?;
        let entry = queue.remove(queue.iter().position(matches)?)?;
        if queue.is_empty() {
            principal_queue.plugins.remove(plugin);
            principal_queue.turns.retain(|turn| turn != plugin);
        }
        if principal_queue.turns.is_empty() {
            self.principals.remove(principal);
            self.turns.retain(|turn| turn != principal);
        }
        Some(entry)
    }

    /// The number of entries. Checks that exactly those with entries have turns.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        assert_eq!(self.turns.len(), self.principals.len());
        assert!(self.turns.iter().all(|turn| self.principals.contains_key(turn)));
        for principal_queue in self.principals.values() {
            let PrincipalQueue { plugins, turns } = principal_queue;
            assert!(!turns.is_empty() && turns.len() == plugins.len());
            assert!(turns.iter().all(|turn| plugins.get(turn).is_some_and(|queue| !queue.is_empty())));
        }
        self.principals.values().flat_map(|principal_queue| principal_queue.plugins.values()).map(VecDeque::len).sum()
    }

    /// Removes the next entry, skipping the principals and the entries that are not eligible now.
    pub(super) fn pop(
        &mut self,
        is_principal_eligible: impl Fn(&Principal) -> bool,
        is_entry_eligible: impl Fn(&PluginId, &T) -> bool,
    ) -> Option<(Principal, PluginId, T)> {
        for _ in 0..self.turns.len() {
            let principal = self.turns.pop_front()?;
            let principal_queue = self.principals.get_mut(&principal)?;
            let popped = if is_principal_eligible(&principal) { principal_queue.pop(&is_entry_eligible) } else { None };
            match principal_queue.turns.is_empty() {
                true => drop(self.principals.remove(&principal)),
                false => self.turns.push_back(principal.clone()),
            }
            if let Some((plugin, entry)) = popped {
                return Some((principal, plugin, entry));
            }
        }
        None
    }
}

impl<T> PrincipalQueue<T> {
    fn pop(&mut self, is_eligible: impl Fn(&PluginId, &T) -> bool) -> Option<(PluginId, T)> {
        for _ in 0..self.turns.len() {
            let plugin = self.turns.pop_front()?;
            let queue = self.plugins.get_mut(&plugin)?;
            let popped = queue.pop_front_if(|entry| is_eligible(&plugin, entry));
            match queue.is_empty() {
                true => drop(self.plugins.remove(&plugin)),
                false => self.turns.push_back(plugin.clone()),
            }
            if let Some(entry) = popped {
                return Some((plugin, entry));
            }
        }
        None
    }
}
