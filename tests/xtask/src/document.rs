//! Pages of the documentation that have a table in them, which a command writes.

use std::fs;

use anyhow::{Context, Result};

use crate::repo::Repo;

/// Replaces what is between `<!-- NAME:begin -->` and `<!-- NAME:end -->` in the document.
pub(crate) fn replace(repo: &Repo, document: &str, name: &str, table: &str) -> Result<()> {
    let path = repo.root.join(document);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {document}"))?;
    let (begin, end) = (format!("<!-- {name}:begin -->\n"), format!("<!-- {name}:end -->"));
    let parts = text.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let (before, after) = parts.with_context(|| format!("{document} has no `{}`", begin.trim()))?;
    fs::write(&path, format!("{before}{begin}{table}{end}{after}")).with_context(|| format!("cannot write {document}"))
}
