//! The catalog of this moment. Whoever asks holds on to the view it got; a new one takes its place in one step.

use super::catalog::{Catalog, Exposed};
use platform::changes::{Change, Changes};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Holds the newest catalog.
pub struct CurrentCatalog {
    newest: RwLock<Arc<Catalog>>,
    /// One change at a time, so that none undoes another.
    changing: Mutex<()>,
    changes: Changes,
}

impl CurrentCatalog {
    /// Begins with this one; tells of others through `changes`.
    pub fn new(catalog: Catalog, changes: Changes) -> Self {
        Self { newest: RwLock::new(Arc::new(catalog)), changing: Mutex::default(), changes }
    }

    /// The newest.
    pub fn now(&self) -> Arc<Catalog> {
        self.newest.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts another in its place, made of the newest.
    pub fn update<E>(&self, make: impl FnOnce(&Catalog) -> Result<Catalog, E>) -> Result<(), E> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.swap(make(&self.now())?);
        Ok(())
    }

    /// Puts another in its place, and tells which lists differ and which resources come from other code now. What runs
    /// on the old one ends on it.
    pub fn swap(&self, next: Catalog) {
        let next = Arc::new(next);
        let old = {
            let mut newest = self.newest.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *newest, next.clone())
        };
        for change in difference(&old, &next) {
            self.changes.send(change);
        }
    }
}

fn difference(old: &Catalog, new: &Catalog) -> Vec<Change> {
    let mut changes = Vec::new();
    let beyond = |catalog: &Catalog| -> Vec<_> {
        catalog.all_beyond().map(|(name, beyond)| (name.to_owned(), beyond.tool.tool.clone())).collect()
    };
    if !same(old.iter(), new.iter(), |a, b| a.tool == b.tool) || beyond(old) != beyond(new) {
        changes.push(Change::Tools);
    }
    if !same(old.prompts(), new.prompts(), |a, b| a == b) {
        changes.push(Change::Prompts(None));
    }
    let templates = same(old.templates(), new.templates(), |a, b| a.template == b.template);
    if !templates || !same(old.resources(), new.resources(), |a, b| a == b) {
        changes.push(Change::Resources(None));
    }
    let other_code = |(uri, exposed): (&str, &Exposed<_>)| {
        let before = old.reader(uri)?;
        (before.digest != exposed.plugin().digest).then(|| Change::Resource(None, uri.to_owned()))
    };
    changes.extend(new.resources().filter_map(other_code));
    changes
}

fn same<'a, T: 'static>(
    old: impl Iterator<Item = (&'a str, &'a Exposed<T>)>,
    new: impl Iterator<Item = (&'a str, &'a Exposed<T>)>,
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
