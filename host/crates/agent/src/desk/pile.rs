//! Matters that wait, by number.

use super::{Matter, Ruling, RulingError};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::oneshot;
use upstream::ToolRequest;

/// Matters of one server that wait. Bounds what a server that asks without end makes a person look at, and hold.
const MAX_OF_ONE: usize = 64;

#[derive(Default)]
pub(super) struct Pile {
    last: u64,
    waiting: BTreeMap<u64, (Arc<Matter>, oneshot::Sender<Ruling>)>,
}

impl Pile {
    pub(super) fn put(&mut self, matter: Arc<Matter>) -> Option<(u64, oneshot::Receiver<Ruling>)> {
        let server = matter.server();
        if self.waiting.values().filter(|(other, _)| other.server() == server).count() >= MAX_OF_ONE {
            return None;
        }
        self.last += 1;
        let (send, receive) = oneshot::channel();
        self.waiting.insert(self.last, (matter, send));
        Some((self.last, receive))
    }

    pub(super) fn all(&self) -> Vec<(u64, Arc<Matter>)> {
        self.waiting.iter().map(|(id, (matter, _))| (*id, matter.clone())).collect()
    }

    /// Takes one off the pile; whether it was still there.
    pub(super) fn withdraw(&mut self, id: u64) -> bool {
        self.waiting.remove(&id).is_some()
    }

    pub(super) fn rule(&mut self, id: Option<u64>, ruling: Ruling) -> Result<(u64, Arc<Matter>), RulingError> {
        let id = match id {
            Some(id) => id,
            None => *self.waiting.first_key_value().ok_or(RulingError::Nothing)?.0,
        };
        let matter = self.waiting.get(&id).ok_or(RulingError::Unknown(id))?.0.clone();
        matter.check(&ruling)?;
        self.settle(id, ruling.clone());
        // Who allows a tool for longer has allowed the calls of it that wait already.
        if let Matter::Call { request, whole_task, .. } = &*matter {
            let for_task = ruling == Ruling::ThisTask || (ruling == Ruling::Allow && *whole_task);
            if for_task || ruling == Ruling::Always {
                for other in self.same(request, !for_task) {
                    self.settle(other, Ruling::Allow);
                }
            }
        }
        Ok((id, matter))
    }

    fn same(&self, of: &ToolRequest, any_task: bool) -> Vec<u64> {
        let same = |matter: &Matter| match matter {
            Matter::Call { request, .. } => {
                let task = any_task || request.from.task == of.from.task;
                request.name == of.name && request.from.server == of.from.server && task
            }
            _ => false,
        };
        self.waiting.iter().filter(|(_, (matter, _))| same(matter)).map(|(id, _)| *id).collect()
    }

    fn settle(&mut self, id: u64, ruling: Ruling) {
        if let Some((_, waiting)) = self.waiting.remove(&id) {
            // Whoever no longer waits needs no ruling.
            let _ = waiting.send(ruling);
        }
    }
}
