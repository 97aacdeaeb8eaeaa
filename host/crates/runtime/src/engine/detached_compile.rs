//! Compiles a component in a process that outlives this one, and puts the code into the cache. Some clients end a server that
//! is not ready soon: without this, each start would compile a large component from its beginning, and none would finish. Some
//! clients also end all processes that descend from the server, so this process must not descend from it.

use super::cache::CompileCache;
use super::incremental::build;
use super::profile::Engines;
use super::worker::{CompileWorker, profile_name, profile_of};
use data_encoding::HEXLOWER;
use policy::Metering;
use sha2::{Digest as _, Sha256};
use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// The hidden command under which the host's own binary is this process.
pub const COMPILE_TO_CACHE_COMMAND: &str = "compile-to-cache";
/// How often the host looks whether another process has finished its compilation.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Bytes that are read of the process's stderr.
const MAX_ERROR_OUTPUT: u64 = 8 << 10;
/// Bytes of a component. Bounds memory.
const MAX_COMPONENT: u64 = 64 << 20;

/// Returns when the cache has the code of the component with this digest. The error is a sentence for the operator. If the
/// caller gives up, the compilation goes on.
pub(super) async fn compile_to_cache(
    worker: &CompileWorker,
    cache: &CompileCache,
    component: &[u8],
    (digest, fingerprint): (&str, &str),
    profile: Metering,
) -> Result<(), String> {
    let lock = cache.lock_path(digest, fingerprint);
    // One process compiles it, however many hosts were started.
    while is_locked(&lock) {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    if cache.has_code(digest, fingerprint) {
        return Ok(());
    }
    let mut child = tokio::process::Command::new(worker.program())
        .args([COMPILE_TO_CACHE_COMMAND, profile_name(profile), digest])
        .arg(cache.folder())
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("the compilation did not start: {error}"))?;
    let (Some(mut stdin), Some(stderr)) = (child.stdin.take(), child.stderr.take()) else {
        return Err("the compilation has no pipes".into());
    };
    let mut said = String::new();
    let send = async {
        // Fails when the process dies early; its exit status then says more than this error.
        let _ = stdin.write_all(component).await;
        drop(stdin);
    };
    let mut stderr = stderr.take(MAX_ERROR_OUTPUT);
    // The child ends once the compilation is detached. The compilation has ended when no process holds its stderr open any
    // more.
    let (_, read, ended) = tokio::join!(send, stderr.read_to_string(&mut said), child.wait());
    read.map(drop).and(ended.map(drop)).map_err(|error| format!("the compilation failed: {error}"))?;
    let said = said.trim();
    match said.strip_prefix("error: ").unwrap_or(said) {
        _ if cache.has_code(digest, fingerprint) => Ok(()),
        "" => Err("the compilation ended without a word".into()),
        why => Err(why.to_owned()),
    }
}

/// Whether a process compiles it at this moment.
fn is_locked(lock: &Path) -> bool {
    File::open(lock).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// The process's side: reads a component from stdin and puts its code into the cache under `digest`. Unless it is `detached`,
/// it starts itself once more and ends, so that the process that does the work does not descend from the server.
pub fn run_compile_to_cache(
    program: PathBuf,
    profile: &str,
    digest: &str,
    folder: &Path,
    detached: bool,
) -> Result<(), String> {
    // The first process of a container would become the parent of a detached process, and never waits for one that it did not
    // start. Detaching is useless there, too: when the first process ends, all others end.
    let parent_is_first = rustix::process::getppid().is_some_and(rustix::process::Pid::is_init);
    if !detached && !parent_is_first {
        let mut command = Command::new(program);
        command.args([COMPILE_TO_CACHE_COMMAND, profile, digest]).arg(folder).arg("--detached").env_clear();
        let started = command.stdout(Stdio::null()).spawn();
        return started.map(drop).map_err(|error| format!("the compilation did not start: {error}"));
    }
    // In its own session, this process does not end with the host's session. This fails only for the leader of a process group,
    // which this process is not.
    let _ = rustix::process::setsid();
    let profile = profile_of(profile)?;
    let mut component = Vec::new();
    io::stdin().lock().take(MAX_COMPONENT).read_to_end(&mut component).map_err(|error| error.to_string())?;
    if format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(&component))) != digest {
        return Err("the component did not arrive whole".into());
    }
    let engines = Engines::new();
    let fingerprint = engines.fingerprint(profile)?;
    let cache = CompileCache::open(folder).map_err(|error| error.to_string())?;
    let path = cache.lock_path(digest, fingerprint);
    let to_text = |error: io::Error| format!("the cache cannot be written: {error}");
    let lock = File::create(&path).map_err(to_text)?;
    lock.lock().map_err(to_text)?;
    // Another process may have compiled it since.
    if cache.code(digest, fingerprint).is_none() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(to_text)?;
        let worker = CompileWorker::new(program);
        let compile = |bytes| worker.compile(bytes, profile);
        let built = runtime.block_on(build(compile, &cache, &component, fingerprint))?;
        built.save(&cache, digest, fingerprint).map_err(to_text)?;
    }
    // Whoever waits for the lock finds the code.
    let _ = std::fs::remove_file(&path);
    Ok(())
}
