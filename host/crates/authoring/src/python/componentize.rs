//! Runs componentize-py: Python in WebAssembly, and a component of the memory that it leaves behind.

use crate::command::{self, quiet};
use crate::wit;
use std::path::{Path, PathBuf};

/// The module that runs.
pub(crate) const ENTRY: &str = "portcullis_entry";

/// Runs the entry, which is in the first of these folders, and makes a component of the memory that it leaves behind. The interpreter
/// sees the folders as `/0`, `/1` and so on.
pub(crate) fn componentize(python: &Path, wit: &Path, path: &[PathBuf], to: &Path) -> anyhow::Result<()> {
    let mut build = command::python(python);
    build.args(["-c", "import componentize_py; componentize_py.script()", "--quiet", "--wit-path"]).arg(wit);
    build.args(["--world", wit::WORLD, "componentize"]);
    for folder in path {
        build.arg("--python-path").arg(folder);
    }
    build.args([ENTRY, "--output"]).arg(to);
    // componentize-py includes the packages of the active environment: this names ours, and not one that the user has
    // activated.
    build.env("VIRTUAL_ENV", python.ancestors().nth(2).unwrap_or(python));
    // Python's own traceback says enough about an error in the author's code.
    build.env("RUST_BACKTRACE", "0");
    quiet(&mut build, "").map(drop)
}
