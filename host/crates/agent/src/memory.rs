//! What an agent remembers from run to run: servers, approvals, calls that were open, and where it stopped reading events.
//!
//! One file that only its user can read, replaced as a whole. Several agents may share it: each change is made to what is
//! there at that moment, under a lock.

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The largest file that is read. Bounds what a damaged one makes the program hold.
const MAX_BYTES: u64 = 4 << 20;
/// Open calls that are kept; the oldest goes first. Bounds what a user who never looks collects.
const MAX_CALLS: usize = 64;
/// Arguments of one call that are kept, in bytes.
const MAX_ARGUMENTS: usize = 64 << 10;
/// Approvals and servers that are kept.
const MAX_ENTRIES: usize = 1_024;

/// What is remembered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Memory {
    /// Name to address: a URL or a command.
    pub servers: BTreeMap<String, String>,
    /// "Always", as the user said it.
    pub approvals: Vec<Approved>,
    /// Those that had not ended.
    pub calls: Vec<OpenCall>,
    /// Server to the last event that was looked at.
    pub cursors: BTreeMap<String, String>,
}

/// A server may call this tool without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approved {
    /// Which server.
    pub server: String,
    /// Which tool of the agent's.
    pub tool: String,
}

/// A call that had not ended when it was written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenCall {
    /// What links it to what the server keeps; unique and random.
    pub correlation_id: String,
    /// On which server.
    pub server: String,
    /// Which tool.
    pub tool: String,
    /// With what; none when it was too much to keep.
    pub arguments: Option<Map<String, Value>>,
    /// The server's own name for it.
    #[serde(default)]
    pub call: Option<String>,
    /// Tools that the user has allowed for as long as this call runs.
    #[serde(default)]
    pub approved: Vec<String>,
    /// The process that runs it, so that another agent of the same user does not take it for left behind.
    #[serde(default)]
    pub process: u32,
}

/// What cannot be remembered.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep the agent's memory in {path}: {source}; name another folder with --state or PORTCULLIS_STATE")]
pub struct MemoryError {
    path: PathBuf,
    source: std::io::Error,
}

/// The file.
pub struct MemoryFile {
    folder: PathBuf,
    last: Mutex<Memory>,
    /// A sentence for the user: what became of a file that could not be read.
    trouble: Mutex<Option<String>>,
}

impl MemoryFile {
    /// Opens the memory in a folder, which is made if it is not there. A file that cannot be understood is set aside.
    pub fn open(folder: &Path) -> Result<Self, MemoryError> {
        let fail = |source| MemoryError { path: folder.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(fail)?;
        let memory = Self { folder: folder.to_owned(), last: Mutex::new(Memory::default()), trouble: Mutex::new(None) };
        memory.change(|_| ())?;
        Ok(memory)
    }

    /// A memory that lasts as long as the process. For tests, and for users who want none.
    pub fn none() -> Self {
        Self { folder: PathBuf::new(), last: Mutex::new(Memory::default()), trouble: Mutex::new(None) }
    }

    /// What is remembered, as this process last saw it.
    pub fn now(&self) -> Memory {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What became of a file that could not be read; said once.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Changes what is remembered. Blocks for a moment.
    pub fn change<T>(&self, change: impl FnOnce(&mut Memory) -> T) -> Result<T, MemoryError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if self.folder.as_os_str().is_empty() {
            let changed = change(&mut last);
            last.bound();
            return Ok(changed);
        }
        let fail = |source| MemoryError { path: self.folder.clone(), source };
        let lock = self.lock().map_err(fail)?;
        let before = self.read().map_err(fail)?;
        let mut memory = before.clone().unwrap_or_default();
        let changed = change(&mut memory);
        memory.bound();
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

    /// Held until it is dropped.
    fn lock(&self) -> std::io::Result<File> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.folder.join("agent.lock"))?;
        flock(&file, FlockOperation::LockExclusive)?;
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
        // First as an object: a list would pass for a memory of nothing.
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
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        Ok(None)
    }

    fn write(&self, memory: &Memory) -> std::io::Result<()> {
        let mut file = tempfile::Builder::new().permissions(Permissions::from_mode(0o600)).tempfile_in(&self.folder)?;
        serde_json::to_writer_pretty(&mut file, memory)?;
        file.flush()?;
        file.as_file().sync_all()?;
        file.persist(self.path()).map_err(|error| error.error)?;
        Ok(())
    }
}

impl Memory {
    /// Whether the user has said "always".
    pub fn approves(&self, server: &str, tool: &str) -> bool {
        self.approvals.iter().any(|one| one.server == server && one.tool == tool)
    }

    /// Writes down an "always".
    pub fn approve(&mut self, server: &str, tool: &str) {
        if !self.approves(server, tool) {
            self.approvals.push(Approved { server: server.to_owned(), tool: tool.to_owned() });
        }
    }

    /// Forgets what a server may do, and the server.
    pub fn forget(&mut self, server: &str) {
        self.servers.remove(server);
        self.cursors.remove(server);
        self.approvals.retain(|one| one.server != server);
    }

    /// Calls whose process has ended without them.
    pub fn left_behind(&self) -> Vec<OpenCall> {
        self.calls.iter().filter(|call| !call.runs()).cloned().collect()
    }

    /// The open call with this mark.
    pub fn call(&mut self, correlation_id: &str) -> Option<&mut OpenCall> {
        self.calls.iter_mut().find(|call| call.correlation_id == correlation_id)
    }

    /// A call ended.
    pub fn ended(&mut self, correlation_id: &str) {
        self.calls.retain(|call| call.correlation_id != correlation_id);
    }

    fn bound(&mut self) {
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
        for map in [&mut self.servers, &mut self.cursors] {
            while map.len() > MAX_ENTRIES {
                map.pop_first();
            }
        }
    }
}

impl OpenCall {
    /// Whether the process that made it is still there.
    fn runs(&self) -> bool {
        let process = i32::try_from(self.process).ok().and_then(rustix::process::Pid::from_raw);
        process.is_some_and(|process| rustix::process::test_kill_process(process).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> OpenCall {
        let arguments = Some(serde_json::from_str(r#"{"topic": "whales"}"#).unwrap());
        let (server, tool) = ("demo".into(), "write".into());
        OpenCall { correlation_id: id.into(), server, tool, arguments, call: None, approved: vec![], process: 0 }
    }

    #[test]
    fn the_next_run_knows() {
        let folder = tempfile::tempdir().unwrap();
        let first = MemoryFile::open(&folder.path().join("new")).unwrap();
        first
            .change(|memory| {
                memory.servers.insert("demo".into(), "http://127.0.0.1:1/mcp".into());
                memory.approve("demo", "notes.add");
                memory.approve("demo", "notes.add");
                memory.calls.push(call("a"));
                memory.calls.push(call("b"));
                memory.ended("b");
            })
            .unwrap();
        let file = folder.path().join("new/agent.json");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let second = MemoryFile::open(&folder.path().join("new")).unwrap();
        assert_eq!(second.now(), first.now());
        assert_eq!((second.now().approvals.len(), second.now().left_behind().len()), (1, 1));
        second.change(|memory| memory.calls[0].process = std::process::id()).unwrap();
        assert!(second.now().left_behind().is_empty(), "it still runs");
        assert!(second.now().approves("demo", "notes.add") && !second.now().approves("other", "notes.add"));
        second.change(|memory| memory.forget("demo")).unwrap();
        assert!(!second.now().approves("demo", "notes.add") && second.now().servers.is_empty());
    }

    #[test]
    fn two_agents_do_not_undo_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (MemoryFile::open(folder.path()).unwrap(), MemoryFile::open(folder.path()).unwrap());
        one.change(|memory| memory.approve("demo", "a")).unwrap();
        two.change(|memory| memory.approve("demo", "b")).unwrap();
        assert!(two.now().approves("demo", "a") && two.now().approves("demo", "b"));
    }

    #[test]
    fn a_broken_file_is_set_aside_and_said() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("agent.json"), "{\"servers\": ").unwrap();
        let memory = MemoryFile::open(folder.path()).unwrap();
        let said = memory.trouble().unwrap();
        assert!(said.contains("agent.json.broken-0"), "{said}");
        assert!(folder.path().join("agent.json.broken-0").exists() && memory.trouble().is_none());
        std::fs::write(folder.path().join("agent.json"), "[]").unwrap();
        MemoryFile::open(folder.path()).unwrap();
        assert!(folder.path().join("agent.json.broken-1").exists(), "the first is not lost to the second");
    }

    #[test]
    fn it_does_not_grow_for_ever() {
        let memory = MemoryFile::none();
        memory
            .change(|memory| {
                (0..100).for_each(|n| memory.calls.push(call(&n.to_string())));
                let long = ("long".to_owned(), Value::from("x".repeat(MAX_ARGUMENTS)));
                memory.calls[99].arguments = Some(Map::from_iter([long]));
            })
            .unwrap();
        let now = memory.now();
        assert_eq!((now.calls.len(), now.calls[0].correlation_id.as_str()), (MAX_CALLS, "36"));
        assert_eq!(now.calls.last().unwrap().arguments, None);
    }
}
