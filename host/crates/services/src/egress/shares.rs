//! How many connections guests have: all of them together, and those of one plugin. Further requests wait.

use platform::sync::Mutex;
use policy::PluginId;
use runtime::imports::HttpError;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Connections of one plugin over all its calls, where all plugins together may have twice as many.
const PER_PLUGIN: usize = 64;

/// Divides the connections that guests may have together.
pub(super) struct ConnectionShares {
    all: Arc<Semaphore>,
    per_plugin: usize,
    plugins: Mutex<HashMap<PluginId, Arc<Semaphore>>>,
}

/// The place of one connection at a time, given back when the last clone is dropped.
#[derive(Clone)]
pub(super) struct ConnectionPlace {
    _permits: Arc<[OwnedSemaphorePermit; 2]>,
}

impl ConnectionShares {
    pub(super) fn new(all: usize) -> Self {
        let per_plugin = PER_PLUGIN.min(all.div_ceil(2));
        Self { all: Arc::new(Semaphore::new(all)), per_plugin, plugins: Mutex::default() }
    }

    /// Waits for a place.
    pub(super) async fn place(&self, plugin: &PluginId) -> Result<ConnectionPlace, HttpError> {
        let new = || Arc::new(Semaphore::new(self.per_plugin));
        let own = self.plugins.lock().entry(plugin.clone()).or_insert_with(new).clone();
        // The plugin's own permit comes first: a plugin that waits for its own connections must not keep others waiting.
        let own = own.acquire_owned().await.map_err(|_| HttpError::Ended)?;
        let all = self.all.clone().acquire_owned().await.map_err(|_| HttpError::Ended)?;
        Ok(ConnectionPlace { _permits: Arc::new([own, all]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use policy::Side;

    fn plugin(name: &str) -> PluginId {
        PluginId { side: Side::Server, name: name.into() }
    }

    #[test]
    fn no_plugin_takes_all_and_all_take_no_more_than_their_share() {
        let shares = ConnectionShares::new(5);
        let take = |name| shares.place(&plugin(name)).now_or_never().map(Result::unwrap);
        let mut held: Vec<_> = (0..9).filter_map(|_| take("a")).collect();
        assert_eq!(held.len(), 3);
        held.extend((0..9).filter_map(|_| take("b")));
        assert_eq!(held.len(), 5);
        assert!(take("c").is_none());
        // A redirect keeps the place of its request.
        let next = held[0].clone();
        held.remove(0);
        assert!(take("c").is_none());
        drop(next);
        assert!(take("c").is_some());
    }

    #[test]
    fn one_plugin_has_no_more_than_its_own_however_many_there_are() {
        let shares = ConnectionShares::new(10_000);
        let held = (0..PER_PLUGIN + 1).map_while(|_| shares.place(&plugin("a")).now_or_never()).count();
        // Each was given back at once.
        assert_eq!(held, PER_PLUGIN + 1);
        let held: Vec<_> = (0..PER_PLUGIN + 1).map_while(|_| shares.place(&plugin("a")).now_or_never()).collect();
        assert_eq!(held.len(), PER_PLUGIN);
    }
}
