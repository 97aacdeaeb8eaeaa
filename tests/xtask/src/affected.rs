//! Which tests a change can break: the tests of each crate that it is in or below, and the end-to-end tests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::built::Program;
use crate::command::output;
use crate::repo::Repo;

/// What has changed since a commit.
pub(crate) struct Affected {
    /// The folders of the packages that have changed, or use one that has.
    packages: BTreeSet<PathBuf>,
    /// The suite's files of tests that have changed, as modules.
    modules: BTreeSet<String>,
    /// Whether something has changed that the suite drives or consists of.
    suite: bool,
}

impl Affected {
    /// Compares the files with those of a commit; new ones count, too.
    pub(crate) fn since(repo: &Repo, commit: &str) -> Result<Self> {
        let git = |arguments: &[&str]| output(Command::new("git").args(arguments).current_dir(&repo.root));
        let changed = git(&["diff", "--name-only", commit])? + &git(&["ls-files", "--others", "--exclude-standard"])?;
        let metadata = output(repo.cargo().args(["metadata", "--format-version", "1", "--no-deps", "--quiet"]))?;
        Self::by(&changed.lines().collect::<Vec<_>>(), &repo.root, &serde_json::from_str(&metadata)?)
    }

    fn by(changed: &[&str], root: &Path, metadata: &Value) -> Result<Self> {
        let mut affected = Self { packages: BTreeSet::new(), modules: BTreeSet::new(), suite: false };
        let packages = metadata["packages"].as_array().context("cargo metadata lists packages")?;
        let folder = |package: &Value| Path::new(package["manifest_path"].as_str()?).parent().map(Path::to_path_buf);
        let folders: BTreeSet<PathBuf> = packages.iter().filter_map(folder).collect();
        // Documents count, too: tests follow what they say.
        for file in changed {
            let path = root.join(file);
            // The innermost package has it.
            affected.packages.extend(path.ancestors().find(|folder| folders.contains(*folder)).map(Path::to_path_buf));
            match file.strip_prefix("tests/suite/tests/").and_then(|rest| rest.split(['/', '.']).next()) {
                Some(module) => drop(affected.modules.insert(module.to_owned())),
                None => affected.suite |= !file.starts_with("tests/xtask/") && !file.starts_with("."),
            }
        }
        loop {
            let below = |package: &&Value| {
                let uses = package["dependencies"].as_array().into_iter().flatten();
                uses.filter_map(|used| used["path"].as_str()).any(|used| affected.packages.contains(Path::new(used)))
            };
            let more: Vec<PathBuf> = packages.iter().filter(below).filter_map(folder).collect();
            let before = affected.packages.len();
            affected.packages.extend(more);
            if affected.packages.len() == before {
                return Ok(affected);
            }
        }
    }

    /// Whether it can break a test of this program; `is_long` says that the test computes a lot or measures. Of the suite, long ones
    /// count only if they have changed themselves.
    pub(crate) fn includes(&self, program: &Program, test: &str, is_long: bool) -> bool {
        match (&*program.name, &*program.kind) {
            // The rules of the repository hold for every file.
            ("tidy", _) => true,
            ("suite", "test") => {
                let module = test.split("::").next().unwrap_or(test);
                self.modules.contains(module) || self.suite && !is_long
            }
            _ => self.packages.contains(&program.folder),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn affected(changed: &[&str]) -> Affected {
        let package = |folder: &str, uses: &[&str]| {
            let uses: Vec<_> = uses.iter().map(|folder| json!({"path": format!("/r/{folder}")})).collect();
            json!({"manifest_path": format!("/r/{folder}/Cargo.toml"), "dependencies": uses})
        };
        let packages = [
            package("host", &["host/crates/mcp"]),
            package("host/crates/mcp", &["host/crates/policy"]),
            package("host/crates/agent", &["host/crates/policy"]),
            package("host/crates/policy", &[]),
            package("tests/suite", &[]),
            package("tests/xtask", &[]),
        ];
        Affected::by(changed, Path::new("/r"), &json!({ "packages": packages }))
            .unwrap_or_else(|error| panic!("{error}"))
    }

    fn program(name: &str, folder: &str) -> Program {
        let (folder, kind) = (Path::new("/r").join(folder), if folder == "tests/suite" { "test" } else { "lib" });
        Program { name: name.to_owned(), kind: kind.to_owned(), is_test: true, path: folder.clone(), folder }
    }

    #[test]
    fn a_change_breaks_what_uses_it_and_nothing_else() {
        let of_mcp = affected(&["host/crates/mcp/src/handler.rs"]);
        let includes = |of: &Affected, name: &str, folder: &str| of.includes(&program(name, folder), "a::b", false);
        assert!(includes(&of_mcp, "mcp", "host/crates/mcp") && includes(&of_mcp, "portcullis", "host"));
        assert!(!includes(&of_mcp, "policy", "host/crates/policy") && !includes(&of_mcp, "agent", "host/crates/agent"));
        assert!(includes(&of_mcp, "suite", "tests/suite") && includes(&of_mcp, "tidy", "tests/suite"));
        let of_policy = affected(&["host/crates/policy/src/lib.rs"]);
        assert!(
            ["host", "host/crates/agent", "host/crates/mcp"].iter().all(|folder| includes(&of_policy, "x", folder))
        );
    }

    #[test]
    fn long_tests_count_if_they_have_changed() {
        let suite = program("suite", "tests/suite");
        let includes = |changed: &str, test: &str| affected(&[changed]).includes(&suite, test, true);
        assert!(!includes("host/src/main.rs", "languages::go") && !includes("README.md", "tasks::x"));
        assert!(includes("tests/suite/tests/languages/go.rs", "languages::go"));
        assert!(
            includes("tests/suite/tests/tasks.rs", "tasks::x")
                && !includes("tests/suite/tests/tasks.rs", "taken_up::x")
        );
        assert!(!affected(&["tests/xtask/src/main.rs"]).includes(&suite, "tasks::x", false));
        assert!(affected(&["wit/v0.1/world.wit"]).includes(&suite, "tasks::x", false));
    }
}
