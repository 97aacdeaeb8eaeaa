//! Paths of the things under test. `cargo xtask test` builds them all.

use std::path::{Path, PathBuf};

/// The repository.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap_or_else(|error| panic!("{} is not there: {error}", root.display()))
}

/// The program under test.
pub fn binary() -> PathBuf {
    existing(std::env::var_os("PORTCULLIS_BIN").map_or_else(|| root().join("target/debug/portcullis"), PathBuf::from))
}

/// A misbehaving guest of `tests/guests`.
pub fn guest(name: &str) -> PathBuf {
    existing(root().join("target/guests").join(format!("{name}.wasm")))
}

/// A real plugin of `plugins/`.
pub fn real_plugin(name: &str) -> PathBuf {
    existing(root().join("target/plugins").join(format!("{name}.wasm")))
}

/// The plugin `polyglot` in this language.
pub fn language(name: &str) -> PathBuf {
    existing(root().join("target/languages").join(format!("{name}.wasm")))
}

/// The compile cache shared by all tests, so that each guest is compiled once. A host with a disabled check has its own
/// cache, so that the real host does not find unchecked code there.
pub fn cache() -> PathBuf {
    std::env::var_os("PORTCULLIS_SUITE_CACHE").map_or_else(|| root().join("target/test-cache"), PathBuf::from)
}

/// Python with the `mcp` package.
pub fn python() -> PathBuf {
    existing(variable("PORTCULLIS_PYTHON"))
}

/// The folder with the TypeScript client.
pub fn node_modules() -> PathBuf {
    existing(variable("PORTCULLIS_NODE_MODULES"))
}

/// The program around the rmcp client.
pub fn rmcp_client() -> PathBuf {
    let built = || root().join("target/debug/asking-rmcp");
    existing(std::env::var_os("PORTCULLIS_RMCP_CLIENT").map_or_else(built, PathBuf::from))
}

/// The rmcp client for the planner, built beside it.
pub fn rmcp_planner() -> PathBuf {
    existing(rmcp_client().with_file_name("planning-rmcp"))
}

/// The rmcp client for a long job, built beside it.
pub fn rmcp_long_job() -> PathBuf {
    existing(rmcp_client().with_file_name("long-job-rmcp"))
}

/// The client script of that name in `tests/clients`.
pub fn client_script(name: &str) -> PathBuf {
    existing(root().join("tests/clients").join(name))
}

/// The folder with the agents that are installed; `None` if it is not set up.
pub fn agents() -> Option<PathBuf> {
    std::env::var_os("PORTCULLIS_AGENTS").map(PathBuf::from)
}

/// The folder with the client libraries that are installed; `None` if it is not set up.
pub fn libraries() -> Option<PathBuf> {
    std::env::var_os("PORTCULLIS_LIBRARIES").map(PathBuf::from)
}

fn variable(name: &str) -> PathBuf {
    match std::env::var_os(name) {
        Some(value) => PathBuf::from(value),
        None => panic!("{name} is not set; run `cargo xtask test`, which sets up real clients and sets it"),
    }
}

fn existing(path: PathBuf) -> PathBuf {
    assert!(path.exists(), "{} is missing; run `cargo xtask test`, which builds it", path.display());
    path
}
