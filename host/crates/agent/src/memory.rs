//! What the agent keeps between runs: servers, approvals, unfinished calls and cursors of inboxes.
//!
//! One file that only its user can read, which is replaced as a whole. Several agents may share it: each change reads
//! and writes the file under a lock.

use platform::files::replace_file;
use platform::sync::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Size of the largest file that is read. Bounds the memory that a damaged file can cost.
const MAX_BYTES: u64 = 4 << 20;
/// Unfinished calls that are kept; the oldest are dropped.
const MAX_CALLS: usize = 64;
/// Size of one call's kept arguments, in bytes.
const MAX_ARGUMENTS: usize = 64 << 10;
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

/// A call that had not ended when it was stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnfinishedCall {
    /// Unique and random. The server repeats it in everything that belongs to the call.
    pub correlation_id: String,
    pub server: String,
    pub tool: String,
    /// None when they were too large to keep.
    pub arguments: Option<Map<String, Value>>,
    /// The server's ID for the call.
    #[serde(default)]
    pub call: Option<String>,
    /// Tools that the user has allowed until this call ends.
    #[serde(default)]
    pub approved: Vec<String>,
    /// The process that runs the call. Keeps other agents of the same user from treating it as unfinished.
    #[serde(default)]
    pub process: u32,
}

/// The memory cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep the agent's memory in {path}: {source}; name another folder with --state or PORTCULLIS_STATE")]
pub struct MemoryError {
    path: PathBuf,
    source: std::io::Error,
}

pub struct MemoryFile {
    folder: PathBuf,
    last: Mutex<Memory>,
    /// A sentence for the user about a file that could not be read.
    take_warning: Mutex<Option<String>>,
}

impl MemoryFile {
    /// Opens the memory in a folder, which is created if missing. A file that cannot be parsed is renamed.
    pub fn open(folder: &Path) -> Result<Self, MemoryError> {
        let fail = |source| MemoryError { path: folder.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(fail)?;
        let memory =
            Self { folder: folder.to_owned(), last: Mutex::new(Memory::default()), take_warning: Mutex::new(None) };
        memory.change(|_| ())?;
        Ok(memory)
    }

    /// A memory without a file, for tests and for users who want to keep nothing.
    pub fn in_memory() -> Self {
        Self { folder: PathBuf::new(), last: Mutex::new(Memory::default()), take_warning: Mutex::new(None) }
    }

    /// The memory as this process last read it.
    pub fn get(&self) -> Memory {
        self.last.lock().clone()
    }

    /// Takes the warning about a file that could not be read.
    pub fn take_warning(&self) -> Option<String> {
        self.take_warning.lock().take()
    }

    /// Changes the memory and writes the file. Blocks.
    pub fn change<T>(&self, change: impl FnOnce(&mut Memory) -> T) -> Result<T, MemoryError> {
        let mut last = self.last.lock();
        if self.folder.as_os_str().is_empty() {
            let changed = change(&mut last);
            last.enforce_limits();
            return Ok(changed);
        }
        let fail = |source| MemoryError { path: self.folder.clone(), source };
        let lock = self.lock().map_err(fail)?;
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

    /// Locks the memory until the file is dropped.
    fn lock(&self) -> std::io::Result<File> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.folder.join("agent.lock"))?;
        file.lock()?;
        Ok(file)
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
        replace_file(&self.path(), &serde_json::to_vec_pretty(memory)?, Permissions::from_mode(0o600))
    }
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

    /// Calls whose process no longer runs.
    pub fn unfinished_calls(&self) -> Vec<UnfinishedCall> {
        self.calls.iter().filter(|call| !call.is_running()).cloned().collect()
    }

    pub fn call(&mut self, correlation_id: &str) -> Option<&mut UnfinishedCall> {
        self.calls.iter_mut().find(|call| call.correlation_id == correlation_id)
    }

    /// Removes a call.
    pub fn remove_call(&mut self, correlation_id: &str) {
        self.calls.retain(|call| call.correlation_id != correlation_id);
    }

    fn enforce_limits(&mut self) {
        let too_many = self.calls.len().saturating_sub(MAX_CALLS);
        self.calls.drain(..too_many);
        for call in &mut self.calls {
            call.arguments = call
                .arguments
                .take()
                .filter(|map| serde_json::to_string(map).is_ok_and(|text| text.len() <= MAX_ARGUMENTS));
        }
        let too_many = self.approvals.len().saturating_sub(MAX_ENTRIES);
        self.approvals.drain(..too_many);
        for map in [&mut self.servers, &mut self.key_files, &mut self.cursors] {
            while map.len() > MAX_ENTRIES {
                map.pop_first();
            }
        }
    }
}

impl UnfinishedCall {
    /// Whether the call's process still runs.
    fn is_running(&self) -> bool {
        let process = i32::try_from(self.process).ok().and_then(rustix::process::Pid::from_raw);
        process.is_some_and(|process| rustix::process::test_kill_process(process).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> UnfinishedCall {
        let arguments = Some(serde_json::from_str(r#"{"topic": "whales"}"#).unwrap());
        let (server, tool) = ("demo".into(), "write".into());
        UnfinishedCall { correlation_id: id.into(), server, tool, arguments, call: None, approved: vec![], process: 0 }
    }

    #[test]
    fn the_memory_is_kept_between_runs() {
        let folder = tempfile::tempdir().unwrap();
        let first = MemoryFile::open(&folder.path().join("new")).unwrap();
        first
            .change(|memory| {
                memory.servers.insert("demo".into(), "http://127.0.0.1:1/mcp".into());
                memory.approve("demo", "notes.add");
                memory.approve("demo", "notes.add");
                memory.calls.push(call("a"));
                memory.calls.push(call("b"));
                memory.remove_call("b");
            })
            .unwrap();
        let file = folder.path().join("new/agent.json");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let second = MemoryFile::open(&folder.path().join("new")).unwrap();
        assert_eq!(second.get(), first.get());
        assert_eq!((second.get().approvals.len(), second.get().unfinished_calls().len()), (1, 1));
        second.change(|memory| memory.calls[0].process = std::process::id()).unwrap();
        assert!(second.get().unfinished_calls().is_empty(), "it still runs");
        assert!(second.get().approves("demo", "notes.add") && !second.get().approves("other", "notes.add"));
        second.change(|memory| memory.forget("demo")).unwrap();
        assert!(!second.get().approves("demo", "notes.add") && second.get().servers.is_empty());
    }

    #[test]
    fn two_agents_keep_each_others_changes() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (MemoryFile::open(folder.path()).unwrap(), MemoryFile::open(folder.path()).unwrap());
        one.change(|memory| memory.approve("demo", "a")).unwrap();
        two.change(|memory| memory.approve("demo", "b")).unwrap();
        assert!(two.get().approves("demo", "a") && two.get().approves("demo", "b"));
    }

    #[test]
    fn a_broken_file_is_renamed_and_reported() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("agent.json"), "{\"servers\": ").unwrap();
        let memory = MemoryFile::open(folder.path()).unwrap();
        let warning = memory.take_warning().unwrap();
        assert!(warning.contains("agent.json.broken-0"), "{warning}");
        assert!(folder.path().join("agent.json.broken-0").exists() && memory.take_warning().is_none());
        std::fs::write(folder.path().join("agent.json"), "[]").unwrap();
        MemoryFile::open(folder.path()).unwrap();
        assert!(folder.path().join("agent.json.broken-1").exists(), "the first is not lost to the second");
    }

    #[test]
    fn the_memory_is_bounded() {
        let memory = MemoryFile::in_memory();
        memory
            .change(|memory| {
                (0..100).for_each(|n| memory.calls.push(call(&n.to_string())));
                let long = ("long".to_owned(), Value::from("x".repeat(MAX_ARGUMENTS)));
                memory.calls[99].arguments = Some(Map::from_iter([long]));
            })
            .unwrap();
        let now = memory.get();
        assert_eq!((now.calls.len(), now.calls[0].correlation_id.as_str()), (MAX_CALLS, "36"));
        assert_eq!(now.calls.last().unwrap().arguments, None);
    }
}
