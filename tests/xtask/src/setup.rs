//! What each command needs before it can start.

use anyhow::Result;

use crate::repo::Repo;
use crate::{adapters, node, python, rmcp, wasm};

/// Tool chains, all plugins in all languages, all test guests.
pub(crate) fn everything(repo: &Repo) -> Result<()> {
    rust_plugins(repo)?;
    wasm::guests(repo)?;
    python::packages(repo)?;
    node::packages(repo)?;
    adapters::typescript(repo)?;
    rmcp::client(repo)?;
    python::plugin(repo)?;
    node::plugin(repo)
}

/// A demo's parts: the Rust plugins, guests that misbehave, the Python client.
pub(crate) fn for_demo(repo: &Repo, guests: &[&str]) -> Result<()> {
    rust_plugins(repo)?;
    if !guests.is_empty() {
        wasm::some_guests(repo, guests)?;
    }
    python::packages(repo)
}

/// What the transcripts of real clients need: the clients, the guest that asks them and the plugins that call them back.
pub(crate) fn for_clients(repo: &Repo, guests: &[&str]) -> Result<()> {
    rust_plugins(repo)?;
    wasm::some_guests(repo, guests)?;
    python::packages(repo)?;
    node::packages(repo)?;
    adapters::typescript(repo)?;
    rmcp::client(repo)
}

/// What attacks need: all guests.
pub(crate) fn for_hostile(repo: &Repo) -> Result<()> {
    wasm::add_target(repo)?;
    wasm::guests(repo)
}

/// The benchmark's parts: the Rust plugins and one to be measured.
pub(crate) fn for_bench(repo: &Repo) -> Result<()> {
    rust_plugins(repo)?;
    wasm::bench_guest(repo)
}

fn rust_plugins(repo: &Repo) -> Result<()> {
    wasm::add_target(repo)?;
    wasm::plugins(repo)
}
