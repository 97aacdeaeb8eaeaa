//! Builds the plugin, one build after the other, and reports the changed files and the result of each.

use super::build_process;
use super::plugin::DevPlugin;
use super::requests::UngrantedRequests;
use super::source_watch::SourceWatch;
use platform::clock::{Clock, SystemClock};
use platform::telemetry::printable;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Most changed files that a line names; the others are counted.
const MAX_NAMED: usize = 3;
/// Pause before sources that could not be read are read again.
const RETRY: Duration = Duration::from_secs(1);

pub(super) struct Builder {
    plugin: DevPlugin,
    watch: SourceWatch,
    clock: Arc<dyn Clock>,
    requests: UngrantedRequests,
}

impl Builder {
    /// Must be called in a tokio runtime.
    pub(super) fn new(plugin: DevPlugin) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let watch = SourceWatch::new(plugin.sources(), clock.clone());
        Self { plugin, watch, clock, requests: UngrantedRequests::default() }
    }

    /// Builds if there is no component, or an older one than the sources. Fails if these cannot be read.
    async fn build_if_old(&mut self) -> anyhow::Result<()> {
        let sources = self.watch.begin().await?;
        let built = std::fs::metadata(&self.plugin.component).and_then(|file| file.modified());
        let why = match built {
            Err(_) => Some("there was none".to_owned()),
            Ok(built) => sources.newer_than(built).map(|path| format!("{} is newer", shown(path))),
        };
        match why {
            Some(why) => self.build(&why, false).await,
            None => self.tell_requests(),
        }
        Ok(())
    }

    /// Builds at once if that is needed, reports in `first` when this is done, and then builds whenever sources change, until
    /// it is dropped. Changes during a build cause the next one.
    pub(super) async fn run(mut self, first: oneshot::Sender<anyhow::Result<()>>) {
        let begun = self.build_if_old().await;
        let failed = begun.is_err();
        if let Err(Err(error)) = first.send(begun) {
            eprintln!("nothing is built until `portcullis dev` is started again: {}", printable(&format!("{error:#}")));
        }
        if failed {
            return;
        }
        let mut said = String::new();
        loop {
            match self.watch.changed().await {
                Ok(changes) => {
                    said.clear();
                    self.build(&changed(&changes), true).await;
                }
                Err(error) => {
                    let error = format!("{error:#}");
                    if error != said {
                        eprintln!("nothing is built until this is mended: {}", printable(&error));
                    }
                    said = error;
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }

    async fn build(&mut self, why: &str, quiet: bool) {
        let began = self.clock.now();
        let built = build_process::build(&self.plugin.folder, &self.plugin.component, quiet).await;
        let took = self.clock.now().saturating_duration_since(began).as_secs_f64();
        let name = self.plugin.component_name();
        match built {
            Ok(true) => {
                eprintln!("built {name} in {took:.1} s: {why}");
                self.tell_requests();
            }
            Ok(false) if self.plugin.component.exists() => {
                eprintln!("not built, after {took:.1} s: {why}; the last good {name} is still served");
            }
            Ok(false) => eprintln!("not built, after {took:.1} s: {why}; nothing is served until a build succeeds"),
            Err(error) => eprintln!("not built: {}", printable(&format!("{error:#}"))),
        }
    }

    fn tell_requests(&mut self) {
        let DevPlugin { id, component, file, is_configured, .. } = &self.plugin;
        if let Some(text) = self.requests.news(id, component, file, *is_configured) {
            eprintln!("{text}");
        }
    }
}

fn shown(path: &std::path::Path) -> String {
    printable(&path.display().to_string()).into_owned()
}

/// `a.c, b.c and 2 others changed`.
fn changed(paths: &[PathBuf]) -> String {
    let named: Vec<_> = paths.iter().take(MAX_NAMED).map(|path| shown(path)).collect();
    match paths.len() - named.len() {
        0 => format!("{} changed", named.join(", ")),
        others => format!("{} and {others} more changed", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_a_few_files() {
        let paths: Vec<PathBuf> = ["a.c", "b\u{1b}.c", "c.c", "d.c", "e.c"].map(PathBuf::from).into();
        assert_eq!(changed(&paths[..1]), "a.c changed");
        assert_eq!(changed(&paths[..2]), r"a.c, b\u{1b}.c changed");
        assert_eq!(changed(&paths), r"a.c, b\u{1b}.c, c.c and 2 more changed");
    }
}
