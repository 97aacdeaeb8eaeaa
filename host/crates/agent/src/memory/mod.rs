//! What the agent keeps between runs: servers, approvals, unfinished calls and cursors of inboxes.
//!
//! One file that only its user can read, which is replaced as a whole. Several agents may share it: each change reads and
//! writes the file under a lock. A call belongs to one run of the agent at a time.

mod runs;
mod unfinished;

pub use unfinished::UnfinishedCall;

use platform::files::replace_file;
use platform::sync::Mutex;
use runs::OwnRun;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use upstream::ResumePoint;

/// Size of the largest file that is read. Bounds the memory that a damaged file can cost.
const MAX_BYTES: u64 = 16 << 20;
/// Unfinished calls that are kept; the oldest are dropped. With the limits on each call, they fit into the file.
const MAX_CALLS: usize = 64;
/// Approvals and servers that are kept.
const MAX_ENTRIES: usize = 1_024;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Memory {
    /// Addresses by name: a URL or a command.
    pub servers: BTreeMap<String, String>,
    /// Files with the API keys of servers, by the servers' names.
    pub key_files: BTreeMap<String, String>,
    /// Tools that the user has allowed for always.
    pub approvals: Vec<ToolApproval>,
    pub calls: Vec<UnfinishedCall>,
    /// The last event that was read from each server's inbox.
    pub cursors: BTreeMap<String, String>,
}

/// A server may call this tool without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolApproval {
    pub server: String,
    /// The agent's tool.
    pub tool: String,
}

/// The memory cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep the agent's memory in {path}: {source}; name another folder with --state or PORTCULLIS_STATE")]
pub struct MemoryError {
    path: PathBuf,
    source: std::io::Error,
}

pub struct MemoryFile {
    /// Empty for a memory without a file.
    folder: PathBuf,
    run: OwnRun,
    last: Mutex<Memory>,
    /// A sentence for the user about a file that could not be read.
    take_warning: Mutex<Option<String>>,
}

impl MemoryFile {
    /// Opens the memory in a folder, which is created if missing. A file that cannot be parsed is renamed.
    pub fn open(folder: &Path) -> Result<Self, MemoryError> {
        let fail = |source| MemoryError { path: folder.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(fail)?;
        let run = {
            let _lock = lock(folder).map_err(fail)?;
            OwnRun::begin(folder).map_err(fail)?
        };
        let memory = Self { folder: folder.to_owned(), run, last: Mutex::default(), take_warning: Mutex::default() };
        memory.change(|_| ())?;
        Ok(memory)
    }

    /// A memory without a file, for tests and for users who want to keep nothing.
    pub fn in_memory() -> Self {
        let (folder, run) = (PathBuf::new(), OwnRun::in_memory());
        Self { folder, run, last: Mutex::default(), take_warning: Mutex::default() }
    }

    /// The memory as this process last read it.
    pub fn get(&self) -> Memory {
        self.last.lock().clone()
    }

    /// The memory as other runs have left it. If the file cannot be read, the memory as this run last read it.
    fn latest(&self) -> Memory {
        if let Err(error) = self.change(|_| ()) {
            tracing::warn!("{error}");
        }
        self.get()
    }

    /// Whether the memory outlives this run.
    pub fn is_kept(&self) -> bool {
        !self.folder.as_os_str().is_empty()
    }

    /// The id of this run, for calls that it begins.
    pub fn run(&self) -> &str {
        &self.run.id
    }

    /// Calls that belong to no run that is still going.
    pub fn unfinished_calls(&self) -> Vec<UnfinishedCall> {
        let calls = self.latest().calls;
        calls.into_iter().filter(|call| !self.has_run(call)).collect()
    }

    /// Calls that belong to another run that is still going.
    pub fn calls_elsewhere(&self) -> Vec<UnfinishedCall> {
        let calls = self.latest().calls;
        calls.into_iter().filter(|call| call.run != self.run.id && self.has_run(call)).collect()
    }

    /// Takes the calls that can be continued and that belong to no run. If several runs try, the first one gets them.
    pub fn take_resumable_calls(&self) -> Result<Vec<UnfinishedCall>, MemoryError> {
        self.change(|memory| {
            let free = memory.calls.iter_mut().filter(|call| call.point.is_some() && !self.has_run(call));
            free.map(|call| {
                call.run.clone_from(&self.run.id);
                call.clone()
            })
            .collect()
        })
    }

    fn has_run(&self, call: &UnfinishedCall) -> bool {
        call.run == self.run.id || (self.is_kept() && runs::goes_on(&self.folder, &call.run))
    }

    /// Takes the warning about a file that could not be read.
    pub fn take_warning(&self) -> Option<String> {
        self.take_warning.lock().take()
    }

    /// Changes the memory and writes the file. Blocks.
    pub fn change<T>(&self, change: impl FnOnce(&mut Memory) -> T) -> Result<T, MemoryError> {
        let mut last = self.last.lock();
        if !self.is_kept() {
            let changed = change(&mut last);
            last.enforce_limits();
            return Ok(changed);
        }
        let fail = |source| MemoryError { path: self.folder.clone(), source };
        let lock = lock(&self.folder).map_err(fail)?;
        let before = self.read().map_err(fail)?;
        let mut memory = before.clone().unwrap_or_default();
        let changed = change(&mut memory);
        memory.enforce_limits();
        if before.as_ref() != Some(&memory) {
            self.write(&memory).map_err(fail)?;
        }
        *last = memory;
        drop(lock);
        Ok(changed)
    }

    fn path(&self) -> PathBuf {
        self.folder.join("agent.json")
    }

    fn read(&self) -> std::io::Result<Option<Memory>> {
        let path = self.path();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        // Parsed as an object first, since an array would be parsed as an empty memory.
        let object = serde_json::from_slice::<Map<String, Value>>(&bytes);
        let wrong = match object.and_then(|object| serde_json::from_value(Value::Object(object))) {
            _ if bytes.len() as u64 > MAX_BYTES => "it is too large".to_owned(),
            Ok(memory) => return Ok(Some(memory)),
            Err(error) => error.to_string(),
        };
        let aside = (0..).map(|n| self.folder.join(format!("agent.json.broken-{n}"))).find(|path| !path.exists());
        let aside = aside.unwrap_or_else(|| self.folder.join("agent.json.broken"));
        std::fs::rename(&path, &aside)?;
        let text = format!("{} could not be read ({wrong}); it is kept as {}", path.display(), aside.display());
        *self.take_warning.lock() = Some(text);
        Ok(None)
    }

    fn write(&self, memory: &Memory) -> std::io::Result<()> {
        replace_file(&self.path(), &serde_json::to_vec(memory)?, Permissions::from_mode(0o600))
    }
}

/// Locks the memory until the file is dropped.
fn lock(folder: &Path) -> std::io::Result<File> {
    let path = folder.join("agent.lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    file.lock()?;
    Ok(file)
}

impl Memory {
    /// Whether the user has allowed the tool for always.
    pub fn approves(&self, server: &str, tool: &str) -> bool {
        self.approvals.iter().any(|one| one.server == server && one.tool == tool)
    }

    /// Allows the tool for always.
    pub fn approve(&mut self, server: &str, tool: &str) {
        if !self.approves(server, tool) {
            self.approvals.push(ToolApproval { server: server.to_owned(), tool: tool.to_owned() });
        }
    }

    /// Removes a server and its approvals.
    pub fn forget(&mut self, server: &str) {
        self.servers.remove(server);
        self.key_files.remove(server);
        self.cursors.remove(server);
        self.approvals.retain(|one| one.server != server);
    }

    pub fn call(&mut self, correlation_id: &str) -> Option<&mut UnfinishedCall> {
        self.calls.iter_mut().find(|call| call.correlation_id == correlation_id)
    }

    /// Keeps the point from which another run can continue a call; none means that no run can. Returns whether it is kept.
    pub fn keep_point(&mut self, correlation_id: &str, point: Option<ResumePoint>) -> bool {
        let Some(call) = self.call(correlation_id) else { return point.is_none() };
        call.point.clone_from(&point);
        call.enforce_limits();
        call.point == point
    }

    /// Removes a call.
    pub fn remove_call(&mut self, correlation_id: &str) {
        self.calls.retain(|call| call.correlation_id != correlation_id);
    }

    fn enforce_limits(&mut self) {
        while self.calls.len() > MAX_CALLS {
            // Calls that nobody can continue are dropped first.
            let oldest = self.calls.iter().position(|call| call.point.is_none()).unwrap_or_default();
            self.calls.remove(oldest);
        }
        self.calls.iter_mut().for_each(UnfinishedCall::enforce_limits);
        let too_many = self.approvals.len().saturating_sub(MAX_ENTRIES);
        self.approvals.drain(..too_many);
        for map in [&mut self.servers, &mut self.key_files, &mut self.cursors] {
            while map.len() > MAX_ENTRIES {
                map.pop_first();
            }
        }
    }
}

#[cfg(test)]
mod tests;
