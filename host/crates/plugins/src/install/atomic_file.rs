//! Replaces files atomically: a crash at any moment leaves the old file or the new one.

use platform::folder::Folder;
use platform::random::random_bytes;
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A step at which the process or the machine may stop. Tests fail or abort there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteStep {
    /// The list of lock files that use the store is on disk under a temporary name.
    UsersWritten,
    UsersRenamed,
    /// A component is on disk under a temporary name.
    ComponentWritten,
    /// The component is named by its digest, but no lock file refers to it yet.
    ComponentRenamed,
    /// The new lock file is on disk under a temporary name.
    LockfileWritten,
    LockfileRenamed,
    /// Components that no lock file refers to are removed.
    Pruned,
}

/// Creates or replaces a file. The new one is written beside it and synced before it is renamed.
pub(super) fn replace(
    folder: &Folder,
    name: &Path,
    bytes: &[u8],
    mode: u32,
    written: WriteStep,
    renamed: WriteStep,
) -> io::Result<()> {
    let temporary = format!("{TEMP_PREFIX}{:016x}", u64::from_ne_bytes(random_bytes()?));
    let temporary = Path::new(&temporary);
    let write = || {
        let mut file = folder.create_file(temporary, 0o600)?;
        file.write_all(bytes)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        file.sync_all()?;
        reached(written)?;
        folder.rename(temporary, name)
    };
    write().inspect_err(|_| drop(folder.remove_file(temporary)))?;
    reached(renamed)?;
    // The rename is durable only when the folder is synced.
    folder.sync()
}

/// The prefix of temporary files, which a crash may leave behind.
pub(super) const TEMP_PREFIX: &str = ".portcullis-";

#[cfg(not(test))]
#[allow(clippy::unnecessary_wraps, reason = "it fails in tests")]
pub(super) fn reached(_: WriteStep) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(super) use testing::reached;

/// Injects faults at crash points.
#[cfg(test)]
pub(super) mod testing {
    use super::WriteStep;
    use std::cell::Cell;
    use std::io;

    #[derive(Clone, Copy)]
    pub(crate) enum Fault {
        Fail(WriteStep),
        Abort(WriteStep),
    }

    thread_local! {
        static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
    }

    pub(crate) fn inject(fault: Option<Fault>) {
        FAULT.set(fault);
    }

    pub(crate) fn reached(step: WriteStep) -> io::Result<()> {
        match FAULT.get() {
            Some(Fault::Fail(at)) if at == step => Err(io::Error::other("injected failure")),
            Some(Fault::Abort(at)) if at == step => std::process::abort(),
            _ => Ok(()),
        }
    }
}
