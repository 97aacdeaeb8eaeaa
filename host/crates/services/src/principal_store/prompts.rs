//! What clients see of published prompts.

use super::prompt::{FillError, FilledPrompt, StoredPrompt, fill};
use super::store::PrincipalStore;
use policy::Principal;
use runtime::imports::Provenance;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub struct ListedPrompt {
    /// `<plugin>__<name>`.
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    /// All of them are required.
    pub arguments: Vec<String>,
    pub source: Provenance,
}

impl PrincipalStore {
    /// Ordered by name.
    pub fn list_prompts(&self, owner: &Principal) -> Vec<ListedPrompt> {
        let listed = |(name, StoredPrompt { prompt, source, .. }): (&String, &StoredPrompt)| ListedPrompt {
            name: name.clone(),
            title: prompt.title.clone(),
            description: prompt.description.clone(),
            arguments: prompt.arguments.clone(),
            source: source.clone(),
        };
        self.with_owner(owner, |own, _| own.prompts.iter().map(listed).collect())
    }

    /// Inserts arguments into a prompt; `None` when there is no such prompt. Unknown arguments are ignored.
    pub fn get_prompt(
        &self,
        owner: &Principal,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Option<Result<FilledPrompt, FillError>> {
        let (prompt, source) = self.with_owner(owner, |own, _| {
            own.prompts.get(name).map(|found| (found.prompt.clone(), found.source.clone()))
        })?;
        Some(fill(prompt, source, arguments))
    }
}
