//! Installs the agents of `tests/clients/agents` below `target/agents`: programs that people use, in pinned versions.

use anyhow::Result;

use crate::repo::Repo;
use crate::{node, python};

/// The environments of those in Python, which need different versions of the same packages.
const IN_PYTHON: [&str; 4] = ["fast-agent", "gptme", "langchain", "openhands"];

/// The one that the tests use, which is small.
pub(crate) fn one(repo: &Repo) -> Result<()> {
    let only = ["--omit=dev", "--omit=optional"];
    node::install(&repo.clients().join("agents"), &repo.agents(), "installing an agent", &only)
}

/// All of them. Those in Python are left out where none is new enough, unless `each` is wanted.
pub(crate) fn all(repo: &Repo, each: bool) -> Result<()> {
    let from = repo.clients().join("agents");
    node::install(&from, &repo.agents(), "installing the agents", &["--include=dev", "--include=optional"])?;
    for name in IN_PYTHON {
        let requirements = from.join(format!("python/{name}.txt"));
        match python::install(&requirements, &repo.agents().join("python").join(name), (3, 12)) {
            Err(error) if each => return Err(error.context(format!("the table would be without {name}"))),
            Err(error) => eprintln!("  without {name}: {error:#}"),
            Ok(()) => {}
        }
    }
    Ok(())
}
