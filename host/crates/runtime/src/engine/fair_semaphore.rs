//! A fair, bounded semaphore: decides which waiting call gets the next slot.
//!
//! Free slots are handed out in the order of a [`FairQueue`]. A plugin and a principal each have a ceiling below the
//! total, so that calls which never end leave slots to others. A full queue refuses at once: requests do not pile up.

use super::fair_queue::FairQueue;
use platform::sync::Mutex;
use policy::{PluginId, Principal};
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard};
use tokio::sync::oneshot;

#[derive(Debug, Clone, Copy)]
pub struct SlotLimits {
    pub total: u32,
    /// Slots that one principal holds at a time.
    pub per_principal: u32,
    /// Calls of one principal that wait at a time.
    pub queue: u32,
}

/// Who asks for a slot, and the limits of its plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct SlotRequest {
    pub principal: Principal,
    pub plugin: PluginId,
    /// Slots that the plugin holds at a time.
    pub concurrent: u32,
    /// Calls of the plugin that wait at a time.
    pub queue: u32,
}

/// Which queue is full, and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueFull {
    Plugin(u32),
    Principal(u32),
}

/// Hands out slots. Clones share them.
#[derive(Clone)]
pub struct FairSemaphore(Arc<Mutex<Inner>>);

/// Permission to run. Dropping it gives the slot to the next waiter.
pub struct Slot {
    /// None when it has been given back.
    owner: Option<(FairSemaphore, SlotRequest)>,
}

struct Inner {
    limits: SlotLimits,
    free: u32,
    /// Identifies a waiter; never used twice.
    last_ticket: u64,
    principals: HashMap<Principal, Usage>,
    plugins: HashMap<PluginId, Usage>,
    queue: FairQueue<Waiter>,
}

#[derive(Default)]
struct Usage {
    running: u32,
    waiting: u32,
}

struct Waiter {
    ticket: u64,
    /// Slots that its plugin holds at a time.
    concurrent: u32,
    slot: oneshot::Sender<Slot>,
}

impl FairSemaphore {
    pub fn new(limits: SlotLimits) -> Self {
        let (principals, plugins, queue) = Default::default();
        let inner = Inner { limits, free: limits.total, last_ticket: 0, principals, plugins, queue };
        Self(Arc::new(Mutex::new(inner)))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock()
    }

    /// Whether every slot is free.
    pub fn is_idle(&self) -> bool {
        self.in_use() == 0
    }

    pub fn in_use(&self) -> u32 {
        let inner = self.lock();
        inner.limits.total.saturating_sub(inner.free)
    }

    /// Waits for a slot. Dropping the future leaves the queue.
    pub async fn acquire(&self, request: &SlotRequest) -> Result<Slot, QueueFull> {
        self.acquire_or_wait(request, false).await
    }

    /// Waits for a slot again, for a call that gave up its slot while it waited for something else. It goes to the
    /// front of its plugin's queue, and is never refused: the number of such calls is bounded elsewhere.
    pub async fn reacquire(&self, request: &SlotRequest) -> Result<Slot, QueueFull> {
        self.acquire_or_wait(request, true).await
    }

    async fn acquire_or_wait(&self, request: &SlotRequest, returning: bool) -> Result<Slot, QueueFull> {
        let (ticket, granted) = {
            let mut inner = self.lock();
            if inner.try_acquire(request) {
                return Ok(Slot { owner: Some((self.clone(), request.clone())) });
            }
            inner.enqueue(request, returning)?
        };
        let mut guard = WaitGuard { semaphore: self, request, ticket: Some(ticket) };
        match granted.await {
            Ok(slot) => {
                guard.ticket = None;
                Ok(slot)
            }
            // Unreachable: a queued waiter is dropped only by its own guard.
            Err(_) => Err(QueueFull::Plugin(request.queue)),
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some((semaphore, request)) = self.owner.take() {
            let mut inner = semaphore.lock();
            inner.release(&request);
            inner.grant_free_slots(&semaphore);
        }
    }
}

/// Removes a waiter from the queue when its future is dropped.
struct WaitGuard<'a> {
    semaphore: &'a FairSemaphore,
    request: &'a SlotRequest,
    ticket: Option<u64>,
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.semaphore.lock().cancel(self.request, ticket);
        }
    }
}

impl Inner {
    /// Takes a free slot without queueing. That is fair: if a slot is free, every waiter is held back by a ceiling of
    /// its own.
    fn try_acquire(&mut self, request: &SlotRequest) -> bool {
        let running = |usage: Option<&Usage>| usage.map_or(0, |usage| usage.running);
        let below_ceilings = running(self.principals.get(&request.principal)) < self.limits.per_principal
            && running(self.plugins.get(&request.plugin)) < request.concurrent;
        let acquired = self.free > 0 && below_ceilings;
        if acquired {
            self.occupy(&request.principal, &request.plugin);
        }
        acquired
    }

    fn occupy(&mut self, principal: &Principal, plugin: &PluginId) {
        self.free -= 1;
        self.principal_usage(principal).running += 1;
        self.plugin_usage(plugin).running += 1;
    }

    fn release(&mut self, request: &SlotRequest) {
        self.free += 1;
        self.principal_usage(&request.principal).running -= 1;
        self.plugin_usage(&request.plugin).running -= 1;
        self.prune(&request.principal, &request.plugin);
    }

    /// Queues a request: at the front of its plugin's queue if it is returning, else at the back.
    fn enqueue(&mut self, request: &SlotRequest, returning: bool) -> Result<(u64, oneshot::Receiver<Slot>), QueueFull> {
        let waiting = |usage: Option<&Usage>| usage.map_or(0, |usage| usage.waiting);
        let SlotRequest { principal, plugin, concurrent, queue } = request;
        if !returning && waiting(self.plugins.get(plugin)) >= *queue {
            return Err(QueueFull::Plugin(*queue));
        }
        if !returning && waiting(self.principals.get(principal)) >= self.limits.queue {
            return Err(QueueFull::Principal(self.limits.queue));
        }
        self.last_ticket += 1;
        let (slot, granted) = oneshot::channel();
        let waiter = Waiter { ticket: self.last_ticket, concurrent: *concurrent, slot };
        self.plugin_usage(plugin).waiting += 1;
        self.principal_usage(principal).waiting += 1;
        match returning {
            true => self.queue.push_front(principal, plugin, waiter),
            false => self.queue.push_back(principal, plugin, waiter),
        }
        Ok((self.last_ticket, granted))
    }

    /// Removes a waiter; does nothing if it has been granted a slot already.
    fn cancel(&mut self, request: &SlotRequest, ticket: u64) {
        if self.queue.remove(&request.principal, &request.plugin, |waiter| waiter.ticket == ticket).is_some() {
            self.stop_waiting(&request.principal, &request.plugin);
        }
    }

    fn stop_waiting(&mut self, principal: &Principal, plugin: &PluginId) {
        self.plugin_usage(plugin).waiting -= 1;
        self.principal_usage(principal).waiting -= 1;
        self.prune(principal, plugin);
    }

    fn grant_free_slots(&mut self, semaphore: &FairSemaphore) {
        while self.free > 0
            && let Some((principal, plugin, waiter)) = self.pop_eligible()
        {
            let request = SlotRequest { principal, plugin, concurrent: waiter.concurrent, queue: 0 };
            self.occupy(&request.principal, &request.plugin);
            self.stop_waiting(&request.principal, &request.plugin);
            if let Err(mut slot) = waiter.slot.send(Slot { owner: Some((semaphore.clone(), request)) })
                && let Some((_, request)) = slot.owner.take()
            {
                // The waiter is being dropped at this moment.
                self.release(&request);
            }
        }
    }

    /// The next waiter whose principal and plugin are below their ceilings.
    fn pop_eligible(&mut self) -> Option<(Principal, PluginId, Waiter)> {
        let (limits, principals, plugins) = (&self.limits, &self.principals, &self.plugins);
        self.queue.pop(
            |principal| principals.get(principal).is_none_or(|usage| usage.running < limits.per_principal),
            |plugin, waiter| plugins.get(plugin).is_none_or(|usage| usage.running < waiter.concurrent),
        )
    }

    fn principal_usage(&mut self, principal: &Principal) -> &mut Usage {
        self.principals.entry(principal.clone()).or_default()
    }

    fn plugin_usage(&mut self, plugin: &PluginId) -> &mut Usage {
        self.plugins.entry(plugin.clone()).or_default()
    }

    /// Forgets principals and plugins with nothing running or waiting.
    fn prune(&mut self, principal: &Principal, plugin: &PluginId) {
        let is_unused = |usage: &Usage| usage.running == 0 && usage.waiting == 0;
        if self.principals.get(principal).is_some_and(is_unused) {
            self.principals.remove(principal);
        }
        if self.plugins.get(plugin).is_some_and(is_unused) {
            self.plugins.remove(plugin);
        }
    }
}

#[cfg(test)]
mod tests;
