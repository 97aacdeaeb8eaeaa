//! How many files guests may have open: in one call, of one principal, and in the whole process. Without a limit, one call
//! could take the descriptors that others, and the host itself, need.

use super::directory_stream::DirectoryStream;
use super::ungranted_root;
use platform::sync::Mutex;
use policy::Principal;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::Notify;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::p2::bindings::filesystem::types::Descriptor;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream};

/// The files that guests may have open together. Of these, no principal gets more than half.
pub struct OpenFiles {
    limit: usize,
    reserved: Mutex<Reserved>,
    freed: Notify,
}

#[derive(Default)]
struct Reserved {
    all: usize,
    by_principal: HashMap<Principal, usize>,
}

/// The most files that one call had open, reserved until it ends.
pub(super) struct Reservation {
    files: Arc<OpenFiles>,
    principal: Principal,
    count: usize,
}

impl OpenFiles {
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, reserved: Mutex::default(), freed: Notify::new() })
    }
}

impl Reservation {
    pub(super) fn new(files: Arc<OpenFiles>, principal: Principal) -> Self {
        Self { files, principal, count: 0 }
    }

    /// Whether the call, which has `open` files open and may have at most `limit`, may open another one.
    pub(super) fn covers_another(&mut self, open: usize, limit: u32) -> bool {
        if open < self.count {
            return true;
        }
        let within_call = limit as usize > open;
        let covered = within_call && self.files.reserved.lock().grow(&self.principal, self.files.limit);
        self.count += usize::from(covered);
        covered
    }

    /// Waits until the reservation covers another file beside `open`. Returns false if the call's own `limit` forbids that.
    pub(super) async fn wait_for_another(&mut self, open: usize, limit: u32) -> bool {
        let files = self.files.clone();
        loop {
            let mut freed = pin!(files.freed.notified());
            freed.as_mut().enable();
            if self.covers_another(open, limit) {
                return true;
            }
            if limit as usize <= open {
                return false;
            }
            freed.await;
        }
    }
}

impl Reserved {
    fn grow(&mut self, principal: &Principal, limit: usize) -> bool {
        let of_principal = self.by_principal.get(principal).copied().unwrap_or_default();
        if self.all >= limit || of_principal >= limit.div_ceil(2) {
            return false;
        }
        self.all += 1;
        self.by_principal.insert(principal.clone(), of_principal + 1);
        true
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.count == 0 {
            return;
        }
        let mut reserved = self.files.reserved.lock();
        reserved.all -= self.count;
        if let Some(of_principal) = reserved.by_principal.get_mut(&self.principal) {
            *of_principal -= self.count;
            if *of_principal == 0 {
                reserved.by_principal.remove(&self.principal);
            }
        }
        drop(reserved);
        self.files.freed.notify_waiters();
    }
}

/// Handles that may each hold a descriptor. A stream keeps its file open after the file's own handle is dropped.
pub(super) fn count(table: &mut ResourceTable) -> usize {
    let holds_file = |entry: &&mut (dyn std::any::Any + Send)| {
        entry.downcast_ref::<Descriptor>().is_some_and(|descriptor| !ungranted_root::is_root(descriptor))
            || entry.is::<DirectoryStream>()
            || entry.is::<DynInputStream>()
            || entry.is::<DynOutputStream>()
    };
    table.iter_mut().filter(holds_file).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_and_no_principal_takes_all() {
        let files = OpenFiles::new(4);
        let of = |name: &'static str| Reservation::new(files.clone(), name.into());
        let (mut first, mut second) = (of("ann"), of("ann"));
        assert!(first.covers_another(0, 1) && !first.covers_another(1, 1), "the call has its own limit");
        assert!(second.covers_another(0, 9) && !second.covers_another(1, 9), "half of four is two");
        assert!(second.covers_another(0, 9), "a file that was closed leaves its place to the next");
        let mut other = of("bob");
        assert!(other.covers_another(0, 9) && other.covers_another(1, 9) && !of("eve").covers_another(0, 9));
        drop(first);
        assert!(second.covers_another(1, 9));
        drop((second, other));
        let reserved = files.reserved.lock();
        assert_eq!((reserved.all, reserved.by_principal.len()), (0, 0));
    }
}
