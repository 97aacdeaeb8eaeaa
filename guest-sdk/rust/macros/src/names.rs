//! Rules for the names of tools, prompts and plugins.

use syn::LitStr;

const LONGEST: usize = 64;

/// Rejects names that an MCP client could not call.
pub(crate) fn check(name: &LitStr, what: &str) -> syn::Result<()> {
    let text = name.value();
    let problem = if text.is_empty() {
        "is empty".to_owned()
    } else if text.len() > LONGEST {
        format!("has {} characters", text.len())
    } else if let Some(bad) = text.chars().find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-')) {
        format!("contains {bad:?}")
    } else {
        return Ok(());
    };
    let advice = format!("{what} names have 1 to {LONGEST} characters of A-Z, a-z, 0-9, `_` and `-`");
    Err(syn::Error::new(name.span(), format!("the name \"{text}\" {problem}; {advice}")))
}
