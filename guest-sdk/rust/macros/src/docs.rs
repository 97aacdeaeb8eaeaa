//! Doc comments as plain text.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// Removes the doc comments from `attributes` and returns their text; `None` when there is none.
pub(crate) fn take(attributes: &mut Vec<Attribute>) -> Option<String> {
    let text = read(attributes);
    attributes.retain(|attribute| !attribute.path().is_ident("doc"));
    text
}

/// The text of all doc comments in `attributes`.
pub(crate) fn read(attributes: &[Attribute]) -> Option<String> {
    let lines: Vec<String> = attributes.iter().filter_map(line).collect();
    let text = clean(&lines.join("\n"));
    (!text.is_empty()).then_some(text)
}

fn line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(meta) = &attribute.meta else { return None };
    let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &meta.value else { return None };
    meta.path.is_ident("doc").then(|| text.value())
}

/// Removes the indentation that `///` and ` * ` leave at the start of lines, and everything from the first heading on:
/// sections such as `# Errors` are for readers of the code.
fn clean(raw: &str) -> String {
    let lines = raw.lines().map(|line| {
        let line = line.trim_end();
        let starred = line.trim_start().strip_prefix("* ");
        starred.or_else(|| line.strip_prefix(' ')).unwrap_or(if line.trim() == "*" { "" } else { line })
    });
    let kept: Vec<&str> = lines.take_while(|line| !line.starts_with("# ")).collect();
    kept.join("\n").trim().to_owned()
}
