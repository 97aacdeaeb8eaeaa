//! Runs componentize-py: Python in WebAssembly, and a component of the memory that it leaves behind.

use super::command::quiet;
use super::wit;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The module that runs.
pub(super) const ENTRY: &str = "portcullis_entry";

/// Runs the entry, which is in the first of these folders, and makes a component of the memory that it leaves behind. The interpreter
/// sees the folders as `/0`, `/1` and so on.
pub(super) fn componentize(python: &Path, wit: &Path, path: &[PathBuf], to: &Path) -> anyhow::Result<()> {
    let mut build = Command::new(python);
    build.args(["-c", "import componentize_py; componentize_py.script()", "--quiet", "--wit-path"]).arg(wit);
    build.args(["--world", wit::WORLD, "componentize"]);
    for folder in path {
        build.arg("--python-path").arg(folder);
    }
    build.args([ENTRY, "--output"]).arg(to);
    // Python's own traceback says enough of an error in the author's code.
    build.env("RUST_BACKTRACE", "0");
    quiet(&mut build, "").map(drop)
}
