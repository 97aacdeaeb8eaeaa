//! Go's runtime as plugins start it. To align its heap it leaves out up to half a MiB, and clears that for later use, though nobody
//! has written into it. In a plugin, whose runtime starts in each call, that was half of the pages that a call wrote into.

use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};

/// The file below `GOROOT/src`, and the call in it that clears.
const FILE: &str = "runtime/mem_sbrk.go";
const CLEARS: &str = "memFree(r, l)";

/// The overlay for `go build`, in `work`; `None` if the installed Go does this in another way, which costs time only.
pub(super) fn overlay(goroot: &Path, work: &Path) -> anyhow::Result<Option<PathBuf>> {
    let there = goroot.join("src").join(FILE);
    let Some(changed) = fs::read_to_string(&there).ok().and_then(|text| without_clearing(&text)) else {
        return Ok(None);
    };
    let (source, overlay) = (work.join("mem_sbrk.go"), work.join("runtime.json"));
    let replaced = serde_json::json!({ "Replace": { there.display().to_string(): source } }).to_string();
    let written = fs::write(&source, changed).and_then(|()| fs::write(&overlay, replaced));
    written.with_context(|| format!("cannot write into {}", work.display()))?;
    Ok(Some(overlay))
}

fn without_clearing(text: &str) -> Option<String> {
    (text.matches(CLEARS).count() == 1).then(|| text.replace(CLEARS, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_one_call_is_left_out() {
        assert_eq!(without_clearing("a {\n\tmemFree(r, l)\n\tmemCheck()\n}").unwrap(), "a {\n\t\n\tmemCheck()\n}");
        assert_eq!(without_clearing("memFree(r, l); memFree(r, l)"), None);
        assert_eq!(without_clearing("memFree(base, length)"), None);
    }

    #[test]
    fn another_go_is_built_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(overlay(folder.path(), folder.path()).unwrap(), None);
        fs::create_dir_all(folder.path().join("src/runtime")).unwrap();
        fs::write(folder.path().join("src").join(FILE), "memFree(r, l)").unwrap();
        let overlay = overlay(folder.path(), folder.path()).unwrap().unwrap();
        assert!(fs::read_to_string(overlay).unwrap().contains("src/runtime/mem_sbrk.go"));
    }
}
