//! The folder in which the fixture `changer` replaces one version of the plugin `changing` with the other.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Recreates `scratch` with both versions and puts the first in place.
pub(super) fn reset(built: &Path) -> Result<()> {
    let scratch = built.join("scratch");
    fs::create_dir_all(&scratch).with_context(|| format!("cannot make {}", scratch.display()))?;
    for (from, to) in [
        ("changing-first.wasm", "changing-first.wasm"),
        ("changing-second.wasm", "changing-second.wasm"),
        ("changing-first.wasm", "changing.wasm"),
    ] {
        fs::copy(built.join(from), scratch.join(to)).with_context(|| format!("cannot copy {from}"))?;
    }
    Ok(())
}
