//! Published prompts, and filling them in.

use super::owner::Owner;
use super::quota::{Held, room};
use super::resources::stay;
use super::{Desk, Shelf};
use policy::Principal;
use runtime::imports::{Provenance, PublishError, PublishedPrompt, Role};
use std::collections::BTreeMap;
use std::time::Instant;

/// The largest prompt that is given out, in bytes. A place may stand in a prompt many times and a client may put much
/// into it: their product is what is bounded.
const FILLED: usize = 1 << 20;

/// One published prompt.
pub(super) struct Prompt {
    prompt: PublishedPrompt,
    pub(super) source: Provenance,
    pub(super) expires: Instant,
}

/// A prompt in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedPrompt {
    /// `<plugin>__<name>`.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// All of them are required.
    pub arguments: Vec<String>,
    /// Where it comes from.
    pub source: Provenance,
}

/// A prompt filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Filled {
    /// What it is.
    pub description: Option<String>,
    /// Who says what.
    pub messages: Vec<(Role, String)>,
    /// Where it comes from.
    pub source: Provenance,
}

/// Why a prompt cannot be filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    /// Not given.
    #[error("the prompt needs the argument `{0}`")]
    Missing(String),
    /// With these arguments.
    #[error("with these arguments the prompt is larger than {0} bytes, which is the limit")]
    TooLarge(usize),
}

impl Prompt {
    pub(super) fn held(&self) -> Held {
        let PublishedPrompt { name, title, description, arguments, messages, .. } = &self.prompt;
        let words: usize = [title, description].into_iter().flatten().map(String::len).sum();
        let arguments: usize = arguments.iter().map(String::len).sum();
        Held::one(name.len() + words + arguments + messages.iter().map(|(_, text)| text.len()).sum::<usize>())
    }
}

/// A prompt's name for clients.
fn full_name(plugin: &str, name: &str) -> String {
    format!("{plugin}__{name}")
}

pub(super) fn put(
    own: &mut Owner,
    desk: &mut Desk<'_>,
    source: Provenance,
    prompt: PublishedPrompt,
) -> Result<(), PublishError> {
    let name = full_name(&source.plugin, &prompt.name);
    let there = own.prompts.get(&name);
    if there.is_some_and(|there| there.source.plugin != source.plugin) {
        let text =
            format!("another plugin has published a prompt that clients see as `{name}` too; choose another name");
        return Err(PublishError::Invalid(text));
    }
    let old = there.map(Prompt::held).unwrap_or_default();
    let new = Prompt { expires: desk.now + stay(prompt.ttl), prompt, source };
    room(own, desk.others, &new.source.plugin, old, new.held())?;
    own.prompts.insert(name, new);
    desk.prompts_changed();
    Ok(())
}

pub(super) fn remove(own: &mut Owner, desk: &mut Desk<'_>, plugin: &str, name: &str) -> Result<(), PublishError> {
    let name = full_name(plugin, name);
    // `a` with `_b` and `a_` with `b` are one name for clients.
    own.prompts.get(&name).filter(|there| there.source.plugin == plugin).ok_or(PublishError::NotFound)?;
    own.prompts.remove(&name);
    desk.prompts_changed();
    Ok(())
}

impl Shelf {
    /// A principal's prompts, by name.
    pub fn list_prompts(&self, owner: &Principal) -> Vec<ListedPrompt> {
        let listed = |(name, Prompt { prompt, source, .. }): (&String, &Prompt)| ListedPrompt {
            name: name.clone(),
            title: prompt.title.clone(),
            description: prompt.description.clone(),
            arguments: prompt.arguments.clone(),
            source: source.clone(),
        };
        self.with(owner, |own, _| own.prompts.iter().map(listed).collect())
    }

    /// Fills in a principal's prompt; none when there is no such prompt. Arguments that it does not have are ignored.
    pub fn get_prompt(
        &self,
        owner: &Principal,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Option<Result<Filled, FillError>> {
        let (prompt, source) =
            self.with(owner, |own, _| own.prompts.get(name).map(|found| (found.prompt.clone(), found.source.clone())))?;
        Some(fill(prompt, source, arguments))
    }
}

fn fill(
    prompt: PublishedPrompt,
    source: Provenance,
    arguments: &BTreeMap<String, String>,
) -> Result<Filled, FillError> {
    if let Some(missing) = prompt.arguments.iter().find(|name| !arguments.contains_key(*name)) {
        return Err(FillError::Missing(missing.clone()));
    }
    let given: Vec<(&str, &str)> =
        prompt.arguments.iter().filter_map(|name| Some((name.as_str(), arguments.get(name)?.as_str()))).collect();
    let mut left = FILLED;
    let messages = prompt.messages.iter().map(|(role, text)| Ok((*role, replaced(text, &given, &mut left)?)));
    let messages = messages.collect::<Result<_, FillError>>()?;
    Ok(Filled { description: prompt.description, messages, source })
}

/// The text with every `{{name}}` replaced, once: what a client gives is never looked at for places itself.
fn replaced(mut text: &str, given: &[(&str, &str)], left: &mut usize) -> Result<String, FillError> {
    let mut filled = String::new();
    let mut push = |part: &str| {
        *left = left.checked_sub(part.len()).ok_or(FillError::TooLarge(FILLED))?;
        filled.push_str(part);
        Ok(())
    };
    while let Some((before, rest)) = text.split_once("{{") {
        push(before)?;
        // Looking for each name, not for the end: a text of braces only would be read to its end at every brace.
        let place = given.iter().find_map(|(name, value)| Some((value, rest.strip_prefix(name)?.strip_prefix("}}")?)));
        match place {
            Some((value, after)) => {
                push(value)?;
                text = after;
            }
            // Not a place: one brace is text, and the next may begin one.
            None => {
                push("{")?;
                text = text.get(before.len() + 1..).unwrap_or_default();
            }
        }
    }
    push(text)?;
    Ok(filled)
}
