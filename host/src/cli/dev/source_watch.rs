//! Waits for changes of sources. As with components that a server reloads, events of the kernel only make it look sooner: it
//! also looks at intervals, which are shorter where the kernel reports nothing.

use super::debounce::Debounce;
use super::snapshot::{SourceFolder, SourceSnapshot};
use platform::clock::Clock;
use platform::folder_events::FolderEvents;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Time between two looks while the kernel reports no change.
const QUIET_INTERVAL: Duration = Duration::from_secs(5);
/// The same where the kernel does not report changes, as in network folders.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Pause after an event, since many often come together.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) struct SourceWatch {
    sources: SourceFolder,
    events: Option<Arc<FolderEvents>>,
    debounce: Debounce,
    /// The snapshot that was taken last, and the one that was returned last.
    seen: Arc<SourceSnapshot>,
    known: Arc<SourceSnapshot>,
}

impl SourceWatch {
    /// Must be called in a tokio runtime.
    pub(super) fn new(sources: SourceFolder, clock: Arc<dyn Clock>) -> Self {
        let events = FolderEvents::new().ok().map(Arc::new);
        Self { sources, events, debounce: Debounce::new(clock), seen: Arc::default(), known: Arc::default() }
    }

    /// The sources as they are now. [`Self::changed`] returns the changes from now on.
    pub(super) async fn begin(&mut self) -> anyhow::Result<Arc<SourceSnapshot>> {
        self.look().await?;
        self.known = self.seen.clone();
        Ok(self.known.clone())
    }

    /// Waits until sources differ from those that were returned last, and no more change for a moment. Returns the changed
    /// files.
    pub(super) async fn changed(&mut self) -> anyhow::Result<Vec<PathBuf>> {
        loop {
            let before = self.seen.clone();
            self.look().await?;
            let changes = self.seen.changes_since(&self.known);
            if changes.is_empty() {
                self.debounce.reset();
                self.wait().await;
                continue;
            }
            if self.seen != before || self.debounce.is_idle() {
                self.debounce.changed();
            }
            match self.debounce.remaining() {
                Some(left) => sleep(left).await,
                None => {
                    self.debounce.reset();
                    self.known = self.seen.clone();
                    return Ok(changes);
                }
            }
        }
    }

    async fn look(&mut self) -> anyhow::Result<()> {
        let (sources, before, events) = (self.sources.clone(), self.seen.clone(), self.events.clone());
        let look = move || {
            let mut are_watched = true;
            // A folder is watched before it is read, so that no change is missed.
            let watch = |folder: &std::path::Path| {
                are_watched &= events.as_ref().is_some_and(|events| events.watch(folder).is_ok() || !folder.is_dir());
            };
            let now = sources.look(&before, watch)?;
            Ok::<_, anyhow::Error>((now, are_watched))
        };
        let (now, are_watched) = tokio::task::spawn_blocking(look).await??;
        if !are_watched {
            self.events = None;
        }
        self.seen = Arc::new(now);
        Ok(())
    }

    /// Waits until something may have changed.
    async fn wait(&mut self) {
        let Some(events) = &self.events else { return sleep(POLL_INTERVAL).await };
        match timeout(QUIET_INTERVAL, events.next()).await {
            Ok(Ok(())) => sleep(PAUSE).await,
            // The kernel reports no more events.
            Ok(Err(_)) => self.events = None,
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::SystemClock;
    use std::fs;

    async fn begin(folder: &std::path::Path, without_events: bool) -> SourceWatch {
        let sources = SourceFolder { folder: folder.to_owned(), others: vec![folder.join("a.wasm")] };
        let mut watch = SourceWatch::new(sources, Arc::new(SystemClock));
        if without_events {
            watch.events = None;
        }
        watch.begin().await.unwrap();
        watch
    }

    #[tokio::test]
    async fn changes_are_told_with_and_without_events_of_the_kernel() {
        for without_events in [false, true] {
            let home = tempfile::tempdir().unwrap();
            fs::write(home.path().join("a"), "one").unwrap();
            let mut watch = begin(home.path(), without_events).await;
            assert_eq!(watch.events.is_none(), without_events);
            fs::write(home.path().join("a.wasm"), "built").unwrap();
            fs::write(home.path().join("a"), "two").unwrap();
            fs::create_dir(home.path().join("new")).unwrap();
            fs::write(home.path().join("new/b"), "").unwrap();
            assert_eq!(watch.changed().await.unwrap(), [PathBuf::from("a"), PathBuf::from("new/b")]);
            // In a folder that was not there at first.
            fs::write(home.path().join("new/b"), "two").unwrap();
            assert_eq!(watch.changed().await.unwrap(), [PathBuf::from("new/b")]);
        }
    }

    #[tokio::test]
    async fn what_is_not_a_source_is_not_told() {
        let home = tempfile::tempdir().unwrap();
        let mut watch = begin(home.path(), false).await;
        fs::write(home.path().join("a.wasm"), "built").unwrap();
        assert!(timeout(4 * PAUSE, watch.changed()).await.is_err());
        fs::write(home.path().join("a"), "").unwrap();
        assert_eq!(watch.changed().await.unwrap(), [PathBuf::from("a")]);
    }
}
