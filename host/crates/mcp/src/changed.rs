//! Changes on their way to one client: gathered, each thing once, so that a plugin that changes something a thousand
//! times a second does not make the client listen a thousand times.

use platform::changes::Change;
use policy::Principal;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

/// A client is told at once, and then not again for so long.
const PAUSE: Duration = Duration::from_millis(50);
/// Changes that are gathered at once. Bounds the work between two notifications.
const GATHERED: usize = 1_024;

/// What has changed for a principal since it was last told.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Changed {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
    uris: BTreeSet<String>,
    /// The listener was too slow to know which.
    everything: bool,
}

impl Changed {
    /// Whether this resource has.
    pub(super) fn resource(&self, uri: &str) -> bool {
        self.everything || self.uris.contains(uri)
    }

    /// Waits for the next changes; none when there will be no more.
    pub(super) async fn next(from: &mut Receiver<Change>, principal: &Principal) -> Option<Self> {
        loop {
            let mut changed = Self::default();
            match from.recv().await {
                Ok(change) => changed.take(change, principal),
                Err(RecvError::Lagged(_)) => changed.lagged(),
                Err(RecvError::Closed) => return None,
            }
            for _ in 0..GATHERED {
                match from.try_recv() {
                    Ok(change) => changed.take(change, principal),
                    Err(TryRecvError::Lagged(_)) => changed.lagged(),
                    Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                }
            }
            if changed != Self::default() {
                return Some(changed);
            }
        }
    }

    /// To be awaited after the client was told.
    pub(super) async fn pause() {
        tokio::time::sleep(PAUSE).await;
    }

    fn take(&mut self, change: Change, principal: &Principal) {
        if !change.concerns(principal) {
            return;
        }
        match change {
            Change::Tools => self.tools = true,
            Change::Prompts(_) => self.prompts = true,
            Change::Resources(_) => self.resources = true,
            Change::Resource(_, uri) => {
                self.uris.insert(uri);
            }
        }
    }

    fn lagged(&mut self) {
        *self = Self { tools: true, prompts: true, resources: true, uris: BTreeSet::new(), everything: true };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::changes::Changes;

    #[tokio::test]
    async fn gathers_what_concerns_its_principal() {
        let (alice, bob) = (Principal::known("key", "alice"), Principal::known("key", "bob"));
        let changes = Changes::new();
        let mut from = changes.subscribe();
        let of = |principal: &Principal, uri: &str| Change::Resource(Some(principal.clone()), uri.to_owned());
        changes.send(Change::Prompts(Some(bob.clone())));
        changes.send(of(&bob, "x:his"));
        changes.send(of(&alice, "x:hers"));
        changes.send(of(&alice, "x:hers"));
        changes.send(Change::Tools);
        let changed = Changed::next(&mut from, &alice).await.unwrap();
        assert!(changed.tools && !changed.prompts && !changed.resources);
        assert!(changed.resource("x:hers") && !changed.resource("x:his"));
        // Too far behind to know: everything.
        (0..5_000).for_each(|_| changes.send(Change::Prompts(None)));
        let changed = Changed::next(&mut from, &alice).await.unwrap();
        assert!(changed.tools && changed.prompts && changed.resources && changed.resource("x:any"));
        drop(changes);
        while let Some(changed) = Changed::next(&mut from, &alice).await {
            assert!(changed.prompts);
        }
    }
}
