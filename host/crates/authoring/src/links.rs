//! Refuses links where a build writes and removes files: whoever made the folder could choose which files these are.

use crate::project::WORK;
use anyhow::{Context, bail};
use std::fs;
use std::path::Path;

/// Checks what `portcullis build` makes in a plugin's folder. It makes no links itself, but for the one in `node_modules`.
pub(crate) fn refuse(project: &Path) -> anyhow::Result<()> {
    refuse_link(&project.join("node_modules"))?;
    let mut paths = vec![project.join(WORK)];
    while let Some(path) = paths.pop() {
        refuse_link(&path)?;
        if path.is_dir() {
            let list = || fs::read_dir(&path)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>();
            paths.extend(list().with_context(|| format!("cannot read {}", path.display()))?);
        }
    }
    Ok(())
}

fn refuse_link(path: &Path) -> anyhow::Result<()> {
    match fs::read_link(path) {
        Ok(to) => bail!(
            "{} is a link to {}: files there would be overwritten or removed by the build. Remove the link",
            path.display(),
            to.display()
        ),
        // It is no link, or is not there.
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_in_what_a_build_makes_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("project");
        fs::create_dir_all(project.join(".portcullis/c/include")).unwrap();
        fs::write(project.join(".portcullis/c/include/a.h"), "").unwrap();
        refuse(&project).unwrap();
        for name in [".portcullis/c/include/b.h", ".portcullis/c/src", ".portcullis/lock", "node_modules"] {
            let link = project.join(name);
            symlink("../../../documents", &link).unwrap();
            let said = refuse(&project).unwrap_err().to_string();
            assert!(said.contains(name) && said.contains("../../../documents"), "{said}");
            fs::remove_file(link).unwrap();
        }
        fs::remove_dir_all(project.join(".portcullis")).unwrap();
        refuse(&project).unwrap();
        symlink(home.path(), project.join(".portcullis")).unwrap();
        assert!(refuse(&project).is_err());
    }
}
