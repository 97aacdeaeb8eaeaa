//! `publish`: resources and prompts created at run time. Their form is checked here; quotas are enforced by the store.

use super::call_scope::CallScope;
use super::import_span::ErrorName;
use super::provenance::Provenance;
use super::types::{Annotations, Exhaustion, GuestDenial, ResourceBody, Role};
use crate::journal::{CallJournal, Step};
use platform::telemetry::unsafe_characters;
use platform::text::truncate_chars;
use policy::{Principal, Recipient, is_name};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Length of a path in bytes. It becomes part of a URI that clients show.
const MAX_PATH: usize = 128;
/// Length of the name of a prompt or of an argument, in bytes.
const MAX_NAME: usize = 64;
/// Length of a title or media type, in bytes. Bounds the size of lists.
const MAX_TITLE: usize = 256;
/// Length of a description in bytes. Bounds how much of a model's context a list can take.
const MAX_DESCRIPTION: usize = 1 << 10;
/// Number of arguments of a prompt. Bounds the form that a client shows.
const MAX_ARGUMENTS: usize = 16;
const MAX_MESSAGES: usize = 32;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum PublishError {
    Denied(GuestDenial),
    Invalid(String),
    Exhausted(Exhaustion),
    NotFound,
}

impl From<Exhaustion> for PublishError {
    fn from(exhaustion: Exhaustion) -> Self {
        Self::Exhausted(exhaustion)
    }
}

impl ErrorName for PublishError {
    fn error_name(&self) -> &'static str {
        match self {
            Self::Denied(_) => "denied",
            Self::Invalid(_) => "invalid",
            Self::Exhausted(_) => "exhausted",
            Self::NotFound => "not-found",
        }
    }
}

/// Metadata of a published resource.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ResourceAttributes {
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime_type: Option<String>,
    pub annotations: Annotations,
    /// How long it is kept after its last change.
    pub ttl: Option<Duration>,
}

/// A prompt with placeholders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedPrompt {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    /// Names that may occur in messages as `{{name}}`.
    pub arguments: Vec<String>,
    pub messages: Vec<(Role, String)>,
    pub ttl: Option<Duration>,
}

/// Stores published resources and prompts, separately for each principal; implemented by `services::principal_store`. A
/// function may return before its change is on disk.
pub trait Publisher: Send + Sync {
    /// Creates or replaces a resource; returns its URI.
    fn put_resource(
        &self,
        owner: &Principal,
        source: Provenance,
        path: &str,
        body: ResourceBody,
        attributes: ResourceAttributes,
    ) -> Result<String, PublishError>;
    /// Appends to a resource or creates it; returns its URI.
    fn append_resource(
        &self,
        owner: &Principal,
        source: Provenance,
        path: &str,
        body: ResourceBody,
    ) -> Result<String, PublishError>;
    fn remove_resource(&self, owner: &Principal, source: Provenance, path: &str) -> Result<(), PublishError>;
    fn put_prompt(&self, owner: &Principal, source: Provenance, prompt: PublishedPrompt) -> Result<(), PublishError>;
    fn remove_prompt(&self, owner: &Principal, source: Provenance, name: &str) -> Result<(), PublishError>;
}

/// Refuses to store anything.
pub(super) struct NoPublisher;

impl Publisher for NoPublisher {
    fn put_resource(
        &self,
        _owner: &Principal,
        _source: Provenance,
        _path: &str,
        _body: ResourceBody,
        _attributes: ResourceAttributes,
    ) -> Result<String, PublishError> {
        Err(Exhaustion::NO_ROOM.into())
    }

    fn append_resource(
        &self,
        _owner: &Principal,
        _source: Provenance,
        _path: &str,
        _body: ResourceBody,
    ) -> Result<String, PublishError> {
        Err(Exhaustion::NO_ROOM.into())
    }

    fn remove_resource(&self, _owner: &Principal, _source: Provenance, _path: &str) -> Result<(), PublishError> {
        Err(PublishError::NotFound)
    }

    fn put_prompt(
        &self,
        _owner: &Principal,
        _source: Provenance,
        _prompt: PublishedPrompt,
    ) -> Result<(), PublishError> {
        Err(Exhaustion::NO_ROOM.into())
    }

    fn remove_prompt(&self, _owner: &Principal, _source: Provenance, _name: &str) -> Result<(), PublishError> {
        Err(PublishError::NotFound)
    }
}

/// One call's access to publishing.
pub struct Publish<'a> {
    scope: &'a CallScope,
    publisher: &'a dyn Publisher,
    journal: &'a CallJournal,
}

impl<'a> Publish<'a> {
    pub(super) fn new(scope: &'a CallScope, publisher: &'a dyn Publisher, journal: &'a CallJournal) -> Self {
        Self { scope, publisher, journal }
    }

    pub fn put_resource(
        &self,
        path: &str,
        body: ResourceBody,
        attributes: ResourceAttributes,
    ) -> Result<String, PublishError> {
        self.allowed()?;
        check_path(path).and_then(|()| attributes.check()).map_err(PublishError::Invalid)?;
        let step = self.journal.begin("publish.put-resource", &(path, &body, &attributes));
        may_go_on(&step)?;
        step.see(|| self.publisher.put_resource(self.owner(), self.scope.provenance(), path, body, attributes))
    }

    pub fn append_resource(&self, path: &str, body: ResourceBody) -> Result<String, PublishError> {
        self.allowed()?;
        check_path(path).map_err(PublishError::Invalid)?;
        let step = self.journal.begin("publish.append-resource", &(path, &body));
        may_go_on(&step)?;
        step.see(|| self.publisher.append_resource(self.owner(), self.scope.provenance(), path, body))
    }

    pub fn remove_resource(&self, path: &str) -> Result<(), PublishError> {
        self.allowed()?;
        let step = self.journal.begin("publish.remove-resource", &path);
        may_go_on(&step)?;
        step.see(|| self.publisher.remove_resource(self.owner(), self.scope.provenance(), path))
    }

    pub fn put_prompt(&self, prompt: PublishedPrompt) -> Result<(), PublishError> {
        self.may_change_prompts()?;
        prompt.check().map_err(PublishError::Invalid)?;
        let step = self.journal.begin("publish.put-prompt", &prompt);
        may_go_on(&step)?;
        step.see(|| self.publisher.put_prompt(self.owner(), self.scope.provenance(), prompt))
    }

    pub fn remove_prompt(&self, name: &str) -> Result<(), PublishError> {
        self.may_change_prompts()?;
        let step = self.journal.begin("publish.remove-prompt", &name);
        may_go_on(&step)?;
        step.see(|| self.publisher.remove_prompt(self.owner(), self.scope.provenance(), name))
    }

    fn allowed(&self) -> Result<(), PublishError> {
        let authority = &self.scope.authority;
        authority.enforce(authority.publish()).map_err(PublishError::Denied)
    }

    /// Checks private results too: the name of a prompt is the same for everybody, so other calls would notice that it appears
    /// or is gone.
    fn may_change_prompts(&self) -> Result<(), PublishError> {
        self.allowed()?;
        self.scope.check_flow(&Recipient::Prompts).map_err(PublishError::Denied)
    }

    fn owner(&self) -> &Principal {
        &self.scope.context.principal
    }
}

/// A call that has to end, because it does not do what its journal says, publishes nothing more.
fn may_go_on(step: &Step) -> Result<(), PublishError> {
    match step.has_to_end() {
        true => Err(PublishError::Invalid("the call ends here".into())),
        false => Ok(()),
    }
}

impl ResourceAttributes {
    fn check(&self) -> Result<(), String> {
        check_text(self.title.as_deref(), self.description.as_deref())?;
        if let Some(mime) = &self.mime_type
            && (mime.len() > MAX_TITLE || !mime.contains('/') || !mime.chars().all(|c| (' '..='~').contains(&c)))
        {
            return Err(format!("{mime:?} is not a media type"));
        }
        match self.annotations.priority {
            Some(priority) if !(0.0..=1.0).contains(&priority) => {
                Err(format!("priority {priority} is not between 0 and 1"))
            }
            _ => Ok(()),
        }
    }
}

impl PublishedPrompt {
    fn check(&self) -> Result<(), String> {
        check_name("a prompt", &self.name)?;
        check_text(self.title.as_deref(), self.description.as_deref())?;
        if self.arguments.len() > MAX_ARGUMENTS || self.messages.len() > MAX_MESSAGES || self.messages.is_empty() {
            return Err(format!("a prompt has 1 to {MAX_MESSAGES} messages and up to {MAX_ARGUMENTS} arguments"));
        }
        for (at, name) in self.arguments.iter().enumerate() {
            check_name("an argument", name)?;
            if self.arguments.iter().take(at).any(|earlier| earlier == name) {
                return Err(format!("the argument `{name}` is listed twice"));
            }
        }
        Ok(())
    }
}

fn check_path(path: &str) -> Result<(), String> {
    // Clients may resolve `.` and `..` in a URI.
    let segment = |part: &str| part != "." && part != ".." && is_name(part, MAX_PATH, "._-");
    if path.len() > MAX_PATH || !path.split('/').all(segment) {
        let shown = truncate_chars(path, MAX_PATH);
        return Err(format!(
            "{shown:?} is not a path: write segments of A-Z a-z 0-9 . _ - with `/` between them, at most {MAX_PATH} bytes"
        ));
    }
    Ok(())
}

fn check_name(of: &str, name: &str) -> Result<(), String> {
    if !is_name(name, MAX_NAME, "_-") {
        let shown = truncate_chars(name, MAX_NAME);
        return Err(format!("{shown:?} is not the name of {of}: write 1 to {MAX_NAME} of A-Z a-z 0-9 _ -"));
    }
    Ok(())
}

fn check_text(title: Option<&str>, description: Option<&str>) -> Result<(), String> {
    if title.is_some_and(|text| text.len() > MAX_TITLE) {
        return Err(format!("the title is longer than {MAX_TITLE} bytes"));
    }
    if description.is_some_and(|text| text.len() > MAX_DESCRIPTION) {
        return Err(format!("the description is longer than {MAX_DESCRIPTION} bytes"));
    }
    for (what, text) in [("title", title), ("description", description)] {
        let line_break = |c| what == "description" && matches!(c, '\n' | '\t');
        if let Some((_, c)) = unsafe_characters(text.unwrap_or_default()).find(|(_, c)| !line_break(*c)) {
            return Err(format!("the {what} has the control or invisible character {}", c.escape_unicode()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_plain() {
        for good in ["a", "reports/2026-10.csv", "a/b/c", "...", &"x".repeat(128)] {
            check_path(good).unwrap();
        }
        for bad in ["", "/", "/a", "a/", "a//b", "..", "a/../b", "a/./b", "a b", "ä", "a?b", "a%2e", &"x".repeat(129)]
        {
            assert!(check_path(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn attributes_and_prompts_are_bounded() {
        let hints = |priority| Annotations { priority: Some(priority), ..Annotations::default() };
        let with = |priority| ResourceAttributes { annotations: hints(priority), ..ResourceAttributes::default() };
        assert!(with(0.5).check().is_ok() && with(1.5).check().is_err() && with(f64::NAN).check().is_err());
        let mime = |mime: &str| ResourceAttributes { mime_type: Some(mime.into()), ..ResourceAttributes::default() };
        assert!(mime("text/csv; charset=utf-8").check().is_ok());
        assert!(mime("text").check().is_err() && mime("text/\u{1b}[2J").check().is_err());
        let prompt = |name: &str, arguments: &[&str], messages: usize| PublishedPrompt {
            name: name.into(),
            title: None,
            description: None,
            arguments: arguments.iter().map(|&name| name.into()).collect(),
            messages: vec![(Role::User, "hello".into()); messages],
            ttl: None,
        };
        prompt("plan", &["where", "when"], 1).check().unwrap();
        for bad in [prompt("a b", &[], 1), prompt("a", &["x", "x"], 1), prompt("a", &[], 0), prompt("a", &[""], 1)] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
