//! What a build uses from the machine, besides the plugin's folder.

use std::path::{Path, PathBuf};

/// Variables by which authors choose a compiler for the C of crates.
pub const C_COMPILERS: [&str; 3] = ["CC_wasm32_wasip2", "CC_wasm32-wasip2", "TARGET_CC"];

pub struct BuildEnvironment {
    /// The user's cache, where tools of languages are installed; or why there is none. Not every build needs it.
    pub cache: Result<PathBuf, String>,
    /// The program whose processes compile components.
    pub worker: PathBuf,
    /// Whether one of [`C_COMPILERS`] is set.
    pub has_c_compiler: bool,
}

impl BuildEnvironment {
    pub(crate) fn cache(&self) -> anyhow::Result<&Path> {
        self.cache.as_deref().map_err(|why| anyhow::anyhow!("{why}"))
    }
}
