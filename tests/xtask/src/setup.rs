//! What each command must build or install before it can start.

use std::panic::resume_unwind;
use std::thread;

use anyhow::Result;

use crate::repo::Repo;
use crate::{adapters, agents, built, code, languages, libraries, node, python, registry, rmcp, wasm};

/// Builds the toolchains, all plugins in all languages, and all test guests. Cargo uses all processors, and most other tools use
/// one or wait for the network: so they work beside it.
pub(crate) fn everything(repo: &Repo) -> Result<()> {
    built::host(repo)?;
    let by_cargo = || {
        rust_plugins(repo)?;
        wasm::guests(repo)?;
        wasm::polyglot(repo)?;
        rmcp::clients(repo)
    };
    let by_others = || {
        languages::plugin(repo, "sql", "c")?;
        python::packages(repo)?;
        node::packages(repo)?;
        agents::one(repo)?;
        adapters::typescript(repo)?;
        registry::debian(repo);
        code::plugin(repo)?;
        languages::plugin(repo, "hello-python", "python")?;
        languages::plugin(repo, "hello-javascript", "javascript")?;
        languages::plugin(repo, "pdf", "python")?;
        languages::plugin(repo, "git", "go")?;
        languages::all(repo)
    };
    together(by_cargo, by_others)
}

/// Does two things at once, each to its end.
pub(crate) fn together(one: impl FnOnce() -> Result<()>, other: impl FnOnce() -> Result<()> + Send) -> Result<()> {
    thread::scope(|scope| {
        let other = scope.spawn(other);
        let one = one();
        one.and(other.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Builds what a demo needs, and nothing else: some Rust plugins, misbehaving guests, the Python client, the host.
pub(crate) fn for_demo(repo: &Repo, plugins: &[&str], guests: &[&str]) -> Result<()> {
    wasm::add_target(repo)?;
    let sandboxed = || {
        python::packages(repo)?;
        wasm::some_plugins(repo, plugins)?;
        if guests.is_empty() { Ok(()) } else { wasm::some_guests(repo, guests) }
    };
    together(|| built::host(repo), sandboxed)
}

/// Builds what the transcripts of real clients need: the clients, the guest that asks them and the plugins that call
/// them back.
pub(crate) fn for_clients(repo: &Repo, guests: &[&str]) -> Result<()> {
    rust_plugins(repo)?;
    wasm::some_guests(repo, guests)?;
    python::packages(repo)?;
    node::packages(repo)?;
    adapters::typescript(repo)?;
    rmcp::clients(repo)
}

/// Builds what the journey of real agents needs: the agents, `each` or those that this machine can run, plugins, and some guests.
pub(crate) fn for_agents(repo: &Repo, guests: &[&str], each: bool) -> Result<()> {
    built::host(repo)?;
    rust_plugins(repo)?;
    wasm::some_guests(repo, guests)?;
    python::packages(repo)?;
    languages::plugin(repo, "hello-python", "python")?;
    agents::all(repo, each)
}

/// Builds what the journey of client libraries needs: the libraries, all plugins, and some guests.
pub(crate) fn for_libraries(repo: &Repo, guests: &[&str]) -> Result<()> {
    built::host(repo)?;
    rust_plugins(repo)?;
    wasm::some_guests(repo, guests)?;
    python::packages(repo)?;
    languages::plugin(repo, "hello-python", "python")?;
    node::packages(repo)?;
    languages::plugin(repo, "hello-javascript", "javascript")?;
    libraries::all(repo)
}

/// Builds what the clients that follow tasks need: these, and a guest.
pub(crate) fn for_task_clients(repo: &Repo, guests: &[&str]) -> Result<()> {
    wasm::add_target(repo)?;
    wasm::some_guests(repo, guests)?;
    libraries::for_tasks(repo)
}

/// Builds what the attack tests need: the Rust plugins, all guests, the registry, and the Python that runs an upstream server.
pub(crate) fn for_hostile(repo: &Repo) -> Result<()> {
    rust_plugins(repo)?;
    registry::debian(repo);
    wasm::guests(repo)?;
    python::packages(repo)
}

/// Builds what the benchmark needs: the Rust plugins, those that are measured, and code mode.
pub(crate) fn for_bench(repo: &Repo) -> Result<()> {
    rust_plugins(repo)?;
    node::packages(repo)?;
    code::plugin(repo)?;
    wasm::for_bench(repo)
}

fn rust_plugins(repo: &Repo) -> Result<()> {
    wasm::add_target(repo)?;
    wasm::plugins(repo)
}
