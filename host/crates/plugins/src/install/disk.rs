//! Files that are replaced as a whole: a crash at any moment leaves the old one or the new one.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A moment at which a machine may lose its power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The list of lock files that use the store is on disk, under a name that means nothing.
    UserWritten,
    /// It is the list.
    UserNamed,
    /// A component is on disk, under a name that means nothing.
    ComponentWritten,
    /// It has the name of its digest; no lock file names it.
    ComponentNamed,
    /// The new lock file is on disk, under a name that means nothing.
    LockWritten,
    /// It is the lock file.
    LockNamed,
    /// Components that nobody names are gone.
    Pruned,
}

/// Puts `bytes` in the place of a file, if anything is there: written beside it, on disk before it has the name.
pub(super) fn replace(path: &Path, bytes: &[u8], mode: u32, written: Step, named: Step) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY).permissions(Permissions::from_mode(0o600));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    reached(written)?;
    file.persist(path)?;
    reached(named)?;
    // The name itself is on disk only with the folder.
    File::open(folder)?.sync_all()
}

/// How files begin that a crash may leave behind.
pub(super) const TEMPORARY: &str = ".portcullis-";

#[cfg(not(test))]
#[allow(clippy::unnecessary_wraps, reason = "tests let it fail")]
pub(super) fn reached(_: Step) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(super) use testing::reached;

/// Failing and dying on purpose.
#[cfg(test)]
pub(super) mod testing {
    use super::Step;
    use std::cell::Cell;
    use std::io;

    /// What happens at a step.
    #[derive(Clone, Copy)]
    pub(crate) enum Fate {
        /// The disk refuses.
        Fail(Step),
        /// The process ends there and then.
        Die(Step),
    }

    thread_local! {
        static FATE: Cell<Option<Fate>> = const { Cell::new(None) };
    }

    pub(crate) fn decide(fate: Option<Fate>) {
        FATE.set(fate);
    }

    pub(crate) fn reached(step: Step) -> io::Result<()> {
        match FATE.get() {
            Some(Fate::Fail(at)) if at == step => Err(io::Error::other("the disk refuses")),
            Some(Fate::Die(at)) if at == step => std::process::abort(),
            _ => Ok(()),
        }
    }
}
