//! Runs of the agent over one memory. Each locks a file of its own, which the system unlocks however the run ends. So other
//! runs know which calls belong to no run any more.

use platform::random::unique_id;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const PREFIX: &str = "agent-run-";
const SUFFIX: &str = ".lock";

/// This run.
pub(super) struct OwnRun {
    pub(super) id: String,
    /// None for a memory without a file.
    file: Option<(PathBuf, File)>,
}

impl OwnRun {
    pub(super) fn in_memory() -> Self {
        Self { id: format!("{:032x}", unique_id()), file: None }
    }

    /// Begins a run, and removes the files of runs that were killed. The caller has locked the memory.
    pub(super) fn begin(folder: &Path) -> io::Result<Self> {
        for entry in std::fs::read_dir(folder)? {
            let name = entry?.file_name();
            let id = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
            if let Some(id) = id
                && !goes_on(folder, id)
            {
                std::fs::remove_file(folder.join(&name))?;
            }
        }
        let mut run = Self::in_memory();
        let path = path(folder, &run.id);
        let file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&path)?;
        file.lock()?;
        run.file = Some((path, file));
        Ok(run)
    }
}

impl Drop for OwnRun {
    fn drop(&mut self) {
        if let Some((path, _)) = &self.file {
            // If this fails, the next run removes the file.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{PREFIX}{id}{SUFFIX}"))
}

/// Whether a run is still going. False for an invalid id.
pub(super) fn goes_on(folder: &Path, id: &str) -> bool {
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return false;
    }
    let Ok(file) = File::open(path(folder, id)) else { return false };
    // Its lock ends with this function.
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}
