//! One file, rewritten.

use crate::tokens::{Specifier, specifiers};

/// A file as an ES module.
pub(crate) struct Rewritten {
    pub(crate) text: String,
    /// Names of modules that changed.
    pub(crate) imports: u64,
    /// Calls of `require` that are imports now.
    pub(crate) requires: u64,
}

/// Gives modules the names that `rename` has for them, and makes imports of `const name = require("module")` if wanted.
pub(crate) fn rewrite(old: &str, rename: impl Fn(&str) -> Option<String>, with_requires: bool) -> Rewritten {
    let mut new = Rewritten { text: String::with_capacity(old.len() + 64), imports: 0, requires: 0 };
    let mut copied = 0;
    for Specifier { at, required } in specifiers(old) {
        let name = &old[at.clone()];
        let renamed = rename(name).unwrap_or_else(|| name.to_owned());
        new.imports += u64::from(renamed != name);
        let line = old[..at.start].rfind('\n').map_or(0, |end| end + 1);
        let import = (required && with_requires).then(|| import_of(&old[line..at.start], &old[at.end..])).flatten();
        if let Some(import) = import {
            new.requires += 1;
            new.text.extend([&old[copied..line], &import, &renamed, &old[at.end..=at.end]]);
            copied = at.end + "\")".len();
        } else {
            new.text.extend([&old[copied..at.start], &renamed]);
            copied = at.end;
        }
    }
    new.text += &old[copied..];
    new
}

/// `const { a: b } = require("` as `import { a as b } from "`. None for calls in other places: they stay as they are.
fn import_of(before: &str, after: &str) -> Option<String> {
    let rest = after.lines().next()?.trim_end().trim_end_matches(';');
    let quote = rest.strip_suffix(')').filter(|quote| quote.len() == 1)?;
    let declared = ["const ", "let ", "var "].iter().find_map(|word| before.strip_prefix(word))?;
    let names = declared.strip_suffix(quote)?.strip_suffix(" = require(")?;
    (!names.contains(['=', '"', '\''])).then(|| format!("import {} from {quote}", names.replace(": ", " as ")))
}

/// How many lines differ. Rewriting adds and removes none.
pub(crate) fn lines_changed(old: &str, new: &str) -> u64 {
    old.lines().zip(new.lines()).filter(|(old, new)| old != new).count() as u64
}
