//! One published prompt, and inserting its arguments.

use super::quota::Usage;
use runtime::imports::{Provenance, PublishedPrompt, Role};
use std::collections::BTreeMap;
use std::time::Instant;

/// Size of a prompt with its arguments inserted, in bytes. A placeholder may occur many times and an argument may be
/// long, so their product is bounded.
const FILLED: usize = 1 << 20;

pub(super) struct StoredPrompt {
    pub(super) prompt: PublishedPrompt,
    pub(super) source: Provenance,
    pub(super) expires: Instant,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FilledPrompt {
    pub description: Option<String>,
    pub messages: Vec<(Role, String)>,
    pub source: Provenance,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    #[error("the prompt needs the argument `{0}`")]
    Missing(String),
    #[error("with these arguments the prompt is larger than {0} bytes, which is the limit")]
    TooLarge(usize),
}

impl StoredPrompt {
    pub(super) fn usage(&self) -> Usage {
        let PublishedPrompt { name, title, description, arguments, messages, .. } = &self.prompt;
        let words: usize = [title, description].into_iter().flatten().map(String::len).sum();
        let arguments: usize = arguments.iter().map(String::len).sum();
        Usage::one(name.len() + words + arguments + messages.iter().map(|(_, text)| text.len()).sum::<usize>())
    }
}

pub(super) fn fill(
    prompt: PublishedPrompt,
    source: Provenance,
    arguments: &BTreeMap<String, String>,
) -> Result<FilledPrompt, FillError> {
    if let Some(missing) = prompt.arguments.iter().find(|name| !arguments.contains_key(*name)) {
        return Err(FillError::Missing(missing.clone()));
    }
    let given: Vec<(&str, &str)> =
        prompt.arguments.iter().filter_map(|name| Some((name.as_str(), arguments.get(name)?.as_str()))).collect();
    let mut left = FILLED;
    let messages = prompt.messages.iter().map(|(role, text)| Ok((*role, replaced(text, &given, &mut left)?)));
    let messages = messages.collect::<Result<_, FillError>>()?;
    Ok(FilledPrompt { description: prompt.description, messages, source })
}

/// Replaces every `{{name}}` once; inserted arguments are not searched for placeholders.
fn replaced(mut text: &str, given: &[(&str, &str)], left: &mut usize) -> Result<String, FillError> {
    let mut filled = String::new();
    let mut push = |part: &str| {
        *left = left.checked_sub(part.len()).ok_or(FillError::TooLarge(FILLED))?;
        filled.push_str(part);
        Ok(())
    };
    while let Some((before, rest)) = text.split_once("{{") {
        push(before)?;
        // Compares with each name instead of searching for `}}`: a text of braces only would be scanned to its end at
        // every brace.
        let place = given.iter().find_map(|(name, value)| Some((value, rest.strip_prefix(name)?.strip_prefix("}}")?)));
        match place {
            Some((value, after)) => {
                push(value)?;
                text = after;
            }
            // Not a placeholder: the first brace is text, and the next may start one.
            None => {
                push("{")?;
                text = text.get(before.len() + 1..).unwrap_or_default();
            }
        }
    }
    push(text)?;
    Ok(filled)
}

/// The name that clients use.
pub(super) fn full_name(plugin: &str, name: &str) -> String {
    format!("{plugin}__{name}")
}
