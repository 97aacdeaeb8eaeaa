//! The current catalog, replaced as a whole; calls keep the snapshot they took.

use super::entry::CatalogEntry;
use super::snapshot::Catalog;
use super::upstream_server::{ListedItem, UpstreamItem};
use super::upstream_tool::UpstreamTool;
use platform::changes::{Change, ChangeNotifier, ListPart};
use platform::sync::Mutex;
use std::sync::Arc;
use tokio::sync::watch;

pub struct CurrentCatalog {
    current: watch::Sender<Arc<Catalog>>,
    /// Held while the current catalog is replaced, or another one made from it, so that no update overwrites another.
    updating: Mutex<()>,
    changes: ChangeNotifier,
}

impl CurrentCatalog {
    /// `changes` is notified of every replacement.
    pub fn new(catalog: Catalog, changes: ChangeNotifier) -> Self {
        Self { current: watch::Sender::new(Arc::new(catalog)), updating: Mutex::default(), changes }
    }

    pub fn snapshot(&self) -> Arc<Catalog> {
        self.current.borrow().clone()
    }

    /// Changes when another catalog takes its place.
    pub fn subscribe(&self) -> watch::Receiver<Arc<Catalog>> {
        self.current.subscribe()
    }

    /// Notifies of changes of the catalog.
    pub fn changes(&self) -> &ChangeNotifier {
        &self.changes
    }

    /// Waits until the catalog has what `found` looks for, or until nothing that could add it is still being loaded.
    pub async fn when(&self, found: impl Fn(&Catalog) -> bool) -> Arc<Catalog> {
        let mut catalogs = self.current.subscribe();
        let reached = catalogs.wait_for(|catalog| !catalog.is_loading() || found(catalog)).await;
        // The sender is in `self`, so waiting cannot fail.
        reached.map_or_else(|_| self.snapshot(), |catalog| catalog.clone())
    }

    /// Waits until everything that can be loaded is loaded.
    pub async fn loaded(&self) -> Arc<Catalog> {
        self.when(|_| false).await
    }

    /// Replaces the catalog with one made from it.
    pub fn update<E>(&self, make: impl FnOnce(&Catalog) -> Result<Catalog, E>) -> Result<(), E> {
        let _guard = self.updating.lock();
        self.put(make(&self.snapshot())?);
        Ok(())
    }

    /// Replaces the catalog, and announces which lists differ and which resources now come from other code. Running calls
    /// end on the old catalog.
    pub fn replace(&self, next: Catalog) {
        let _guard = self.updating.lock();
        self.put(next);
    }

    fn put(&self, mut next: Catalog) {
        next.number = self.snapshot().number + 1;
        let next = Arc::new(next);
        let old = self.current.send_replace(next.clone());
        for change in difference(&old, &next) {
            self.changes.send(change);
        }
    }
}

fn difference(old: &Catalog, new: &Catalog) -> Vec<Change> {
    let mut changes = Vec::new();
    let upstream_tools = |catalog: &Catalog| -> Vec<_> {
        let shown = |(name, upstream): (&str, &Arc<UpstreamTool>)| {
            (name.to_owned(), upstream.tool.tool.clone(), upstream.tool.passed_on.clone())
        };
        catalog.upstream_tools().map(shown).collect()
    };
    if !is_same(old.tools(), new.tools(), |a, b| a.tool == b.tool) || upstream_tools(old) != upstream_tools(new) {
        changes.push(Change::Tools(new.number));
    }
    if !is_same(old.prompts(), new.prompts(), |a, b| a == b)
        || !shown(old.upstream_prompts()).eq(shown(new.upstream_prompts()))
    {
        changes.push(Change::Prompts(ListPart::Shared(new.number)));
    }
    let templates = is_same(old.templates(), new.templates(), |a, b| a.template == b.template);
    if !templates
        || !is_same(old.resources(), new.resources(), |a, b| a == b)
        || !shown(old.upstream_resources()).eq(shown(new.upstream_resources()))
        || !shown(old.upstream_templates()).eq(shown(new.upstream_templates()))
    {
        changes.push(Change::Resources(ListPart::Shared(new.number)));
    }
    let changed_code = |(uri, entry): (&str, &CatalogEntry<_>)| {
        let before = old.plugin_for_uri(uri)?;
        (before.digest != entry.plugin().digest).then(|| Change::Resource(None, uri.to_owned()))
    };
    changes.extend(new.resources().filter_map(changed_code));
    changes
}

/// The part of the servers' items that clients see: address and content, without the server.
fn shown<'a>(
    items: impl Iterator<Item = (&'a str, &'a UpstreamItem)>,
) -> impl Iterator<Item = (&'a str, &'a ListedItem)> {
    items.map(|(address, found)| (address, &*found.item))
}

fn is_same<'a, T: 'static>(
    old: impl Iterator<Item = (&'a str, &'a CatalogEntry<T>)>,
    new: impl Iterator<Item = (&'a str, &'a CatalogEntry<T>)>,
    equal: fn(&T, &T) -> bool,
) -> bool {
    let mut new = new.fuse();
    let mut old = old.fuse();
    loop {
        match (old.next(), new.next()) {
            (None, None) => return true,
            (Some((a, one)), Some((b, other))) if a == b && equal(one.item(), other.item()) => {}
            _ => return false,
        }
    }
}
