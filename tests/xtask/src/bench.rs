//! `cargo xtask bench`: the host compared with a native server, both in release builds.

use std::process::Command;

use anyhow::Result;

use crate::command::{cargo, check, step};
use crate::peers::with_peers;
use crate::repo::Repo;
use crate::{python, setup, wasm};

/// Builds and starts the benchmark, and passes `args` to it.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<()> {
    setup::for_bench(repo)?;
    step("building the host and the benchmark in release", || {
        check(
            cargo().args(["build", "--release", "--quiet", "-p", "portcullis", "-p", "bench"]).current_dir(&repo.root),
        )
    })?;
    let mut bench = Command::new(repo.binary("release", "bench"));
    // It makes plugins, whose tools are installed where the suite looks for them, too.
    bench
        .env("PORTCULLIS_CACHE", repo.target.join("test-cache"))
        .env("PORTCULLIS_STATE", repo.target.join("test-state"));
    let fastmcp = repo.target.join("fastmcp");
    match python::install(&repo.root.join("tests/bench/code_mode/requirements.txt"), &fastmcp, (3, 11)) {
        Ok(()) => drop(bench.arg("--fastmcp").arg(fastmcp.join("bin/python"))),
        Err(error) => eprintln!("  without FastMCP: {error:#}"),
    }
    bench.arg("--portcullis").arg(repo.binary("release", "portcullis"));
    check(bench.arg("--plugins").arg(repo.plugins()).args(args).current_dir(&repo.root))?;
    // With arguments, the caller wants only a part of the benchmark.
    if args.is_empty() { allocations(repo) } else { Ok(()) }
}

/// Prints how often an echo call allocates, and where. A development build allocates as often as a release build.
fn allocations(repo: &Repo) -> Result<()> {
    wasm::some_guests(repo, &["echo"])?;
    let mut build = cargo();
    build.args(["build", "--quiet", "--workspace", "--bin", "portcullis"]);
    step("building the host with a counting allocator", || check(build.current_dir(&repo.root)))?;
    let mut test = cargo();
    test.args(["test", "--quiet", "--workspace", "--test", "allocations", "--", "--nocapture"]);
    check(with_peers(repo, &mut test).current_dir(&repo.root))
}
