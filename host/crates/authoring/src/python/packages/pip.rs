//! Runs pip, and says what stopped it.

use super::requirement;
use crate::command::{self, outcome};
use anyhow::bail;
use std::path::Path;
use std::process::Command;

/// Runs pip so that it starts no program. A source distribution, which an index may name in place of a wheel, would be built by
/// running its `setup.py`.
const PIP: &str = "
import runpy, sys
def refuse(event, details):
    if event in ('subprocess.Popen', 'os.system', 'os.exec', 'os.posix_spawn', 'os.fork', 'os.forkpty'):
        raise PermissionError('portcullis build installs wheels and runs nothing of a package')
sys.addaudithook(refuse)
sys.argv[0] = 'pip'
runpy.run_module('pip', run_name='__main__', alter_sys=True)
";
/// Options that choose wheels which run in the component: without compiled code, for any platform.
pub(super) const PURE: [&str; 8] =
    ["--only-binary", ":all:", "--platform", "any", "--implementation", "py", "--abi", "none"];

/// pip, in a folder without files that it could take for packages.
pub(super) fn pip(python: &Path, folder: &Path, what: &str) -> Command {
    let mut pip = command::python(python);
    pip.args(["-c", PIP, what, "--progress-bar", "off", "--disable-pip-version-check"]).current_dir(folder);
    pip
}

/// What pip did not find as a pure-Python wheel.
pub(super) struct MissingWheel {
    /// The requirement as it is written, such as `MarkupSafe>=2.0`.
    pub(super) requirement: String,
    /// The package that requires it, unless it is the plugin.
    by: Option<String>,
    said: String,
}

/// Runs pip. The inner error is a missing wheel, the outer one any other failure.
pub(super) fn attempt(pip: &mut Command) -> anyhow::Result<Result<(), MissingWheel>> {
    let (succeeded, said) = outcome(pip)?;
    if succeeded {
        return Ok(Ok(()));
    }
    match missing(&said) {
        Some(missing) => Ok(Err(missing)),
        None => bail!("pip failed:\n{}", without_progress(&said)),
    }
}

pub(super) fn run(pip: &mut Command) -> anyhow::Result<()> {
    attempt(pip)?.map_err(|missing| missing.error(None))
}

impl MissingWheel {
    /// `found` is a wheel of it that is not pure.
    pub(super) fn error(&self, found: Option<&str>) -> anyhow::Error {
        let Self { requirement, by, said } = self;
        let by = by.as_ref().map_or_else(String::new, |by| format!(", which {by} requires,"));
        let instead =
            requirement::instead_of(requirement).map_or_else(String::new, |what| format!("\nInstead: {what}"));
        match found {
            Some(file) => anyhow::anyhow!(
                "`{requirement}`{by} has compiled code, which does not run in a component: the index has {file} and no \
                 pure-Python wheel (py3-none-any){instead}"
            ),
            None => anyhow::anyhow!(
                "`{requirement}`{by} has no pure-Python wheel (py3-none-any) in these versions, or the index does not have it or is out \
                 of reach; packages with compiled code do not run in a component{instead}\n{}",
                without_progress(said)
            ),
        }
    }
}

/// Finds the missing wheel in pip's output. If no version fits because all of them require the same package, pip names that
/// package once for each version.
fn missing(said: &str) -> Option<MissingWheel> {
    let lines = || said.lines().map(str::trim);
    let conflicts = lines().filter_map(|line| line.split_once(" depends on "));
    let unavailable = lines().find_map(|line| line.split_once("No matching distribution found for "));
    let (by, requirement) = match unavailable {
        Some((_, requirement)) => {
            let asked = format!("{requirement} (from ");
            let by = lines().find_map(|line| line.split_once(&asked)?.1.split([')', '-', '=']).next());
            (by.filter(|by| !by.starts_with("versions:")), requirement)
        }
        None => {
            let all: Vec<(&str, &str)> = conflicts.collect();
            let (by, first) = *all.first()?;
            let same = |(_, other): &(&str, &str)| requirement::name_of(other) == requirement::name_of(first);
            if !all.iter().all(same) || lines().any(|line| line.starts_with("The user requested")) {
                return None;
            }
            (Some(by), first)
        }
    };
    Some(MissingWheel {
        requirement: requirement.trim().to_owned(),
        by: by.map(ToOwned::to_owned),
        said: said.to_owned(),
    })
}

fn without_progress(said: &str) -> String {
    let says_something = |line: &&str| {
        !["Collecting ", "  Downloading ", "  Using cached ", "Looking in ", "Saved ", "Processing ", "INFO: "]
            .iter()
            .any(|start| line.starts_with(start))
    };
    said.lines().filter(says_something).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_in_the_way_is_found() {
        for (said, requirement, by) in [
            (
                "ERROR: Could not find a version that satisfies the requirement numpy (from versions: none)\n\
                 ERROR: No matching distribution found for numpy",
                "numpy",
                None,
            ),
            (
                "ERROR: Could not find a version that satisfies the requirement fast>=2 (from greetings) (from versions: none)\n\
                 ERROR: No matching distribution found for fast>=2",
                "fast>=2",
                Some("greetings"),
            ),
            (
                "ERROR: Cannot install a==1 and a==2 because\n\nThe conflict is caused by:\n    a 2 depends on Fast_x>=2\n    a 1 depends on fast-x\n",
                "Fast_x>=2",
                Some("a 2"),
            ),
        ] {
            let found = missing(said).unwrap();
            assert_eq!((found.requirement.as_str(), found.by.as_deref()), (requirement, by));
        }
        let two = "The conflict is caused by:\n    a 2 depends on b>=2\n    c 1 depends on d<2\n";
        assert!(missing(two).is_none() && missing("ERROR: no space left on device").is_none());
    }

    #[test]
    fn an_error_names_the_wheel_and_what_to_take_instead() {
        let missing = missing("ERROR: No matching distribution found for orjson>=3").unwrap();
        let error = missing.error(Some("orjson-3.8-cp311-cp311-manylinux.whl")).to_string();
        assert!(error.starts_with("`orjson>=3` has compiled code"), "{error}");
        assert!(error.contains("the index has orjson-3.8-cp311-cp311-manylinux.whl"), "{error}");
        assert!(error.ends_with("\nInstead: `json` of the standard library"), "{error}");
    }
}
