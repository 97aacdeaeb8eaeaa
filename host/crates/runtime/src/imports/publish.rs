//! `publish`: resources and prompts made at run time. What may be kept at all is checked here; how much, by who keeps it.

use super::{Annotations, CallContext, Exhaustion, GuestDenial, Permit, Provenance, ResourceBody, Role};
use platform::telemetry::hidden;
use policy::Principal;
use std::sync::Arc;
use std::time::Duration;

/// The longest path, in bytes. It becomes part of a URI that clients show.
const MAX_PATH: usize = 128;
/// The longest name of a prompt or of one of its arguments, in bytes.
const MAX_NAME: usize = 64;
/// The longest title or media type, in bytes. Bounds what a list costs its reader.
const MAX_TITLE: usize = 256;
/// The longest description, in bytes. Bounds how much of a model's context a list can take.
const MAX_DESCRIPTION: usize = 1 << 10;
/// Arguments of a prompt. Bounds the form that a client shows.
const MAX_ARGUMENTS: usize = 16;
/// Messages of a prompt.
const MAX_MESSAGES: usize = 32;

/// Why nothing was published.
#[derive(Debug, Clone, PartialEq)]
pub enum PublishError {
    /// Not granted.
    Denied(GuestDenial),
    /// Cannot be published as it is.
    Invalid(String),
    /// A share is used up.
    Exhausted(Exhaustion),
    /// Nothing there.
    NotFound,
}

impl From<Exhaustion> for PublishError {
    fn from(exhaustion: Exhaustion) -> Self {
        Self::Exhausted(exhaustion)
    }
}

/// What is said of a resource.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attributes {
    /// For people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Media type.
    pub mime_type: Option<String>,
    /// Audience and priority.
    pub annotations: Annotations,
    /// How long it stays after its last change.
    pub ttl: Option<Duration>,
}

/// A prompt with places to fill in.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedPrompt {
    /// Within the plugin.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// What `{{name}}` may stand for in a message.
    pub arguments: Vec<String>,
    /// Who says what.
    pub messages: Vec<(Role, String)>,
    /// How long it stays.
    pub ttl: Option<Duration>,
}

/// Keeps what is published, each principal's apart. Implemented by `shelf`.
pub trait Publisher: Send + Sync {
    /// Creates or replaces; says the URI.
    fn put_resource(
        &self,
        owner: &Principal,
        source: Provenance,
        path: &str,
        body: ResourceBody,
        attributes: Attributes,
    ) -> Result<String, PublishError>;
    /// Adds at the end, or creates; says the URI.
    fn append_resource(
        &self,
        owner: &Principal,
        source: Provenance,
        path: &str,
        body: ResourceBody,
    ) -> Result<String, PublishError>;
    /// Takes it back.
    fn remove_resource(&self, owner: &Principal, source: Provenance, path: &str) -> Result<(), PublishError>;
    /// Creates or replaces.
    fn put_prompt(&self, owner: &Principal, source: Provenance, prompt: PublishedPrompt) -> Result<(), PublishError>;
    /// Takes it back.
    fn remove_prompt(&self, owner: &Principal, source: Provenance, name: &str) -> Result<(), PublishError>;
}

/// One call's way to publish.
pub struct Publish {
    permit: Permit,
    publisher: Arc<dyn Publisher>,
}

impl Publish {
    pub(super) fn new(permit: Permit, publisher: Arc<dyn Publisher>) -> Self {
        Self { permit, publisher }
    }

    /// Creates or replaces a resource.
    pub fn put_resource(
        &self,
        call: &CallContext,
        path: &str,
        body: ResourceBody,
        attributes: Attributes,
    ) -> Result<String, PublishError> {
        self.allowed()?;
        check_path(path).and_then(|()| attributes.check()).map_err(PublishError::Invalid)?;
        self.publisher.put_resource(&call.principal, self.source(call), path, body, attributes)
    }

    /// Adds to a resource.
    pub fn append_resource(&self, call: &CallContext, path: &str, body: ResourceBody) -> Result<String, PublishError> {
        self.allowed()?;
        check_path(path).map_err(PublishError::Invalid)?;
        self.publisher.append_resource(&call.principal, self.source(call), path, body)
    }

    /// Takes a resource back.
    pub fn remove_resource(&self, call: &CallContext, path: &str) -> Result<(), PublishError> {
        self.allowed()?;
        self.publisher.remove_resource(&call.principal, self.source(call), path)
    }

    /// Creates or replaces a prompt.
    pub fn put_prompt(&self, call: &CallContext, prompt: PublishedPrompt) -> Result<(), PublishError> {
        self.allowed()?;
        prompt.check().map_err(PublishError::Invalid)?;
        self.publisher.put_prompt(&call.principal, self.source(call), prompt)
    }

    /// Takes a prompt back.
    pub fn remove_prompt(&self, call: &CallContext, name: &str) -> Result<(), PublishError> {
        self.allowed()?;
        self.publisher.remove_prompt(&call.principal, self.source(call), name)
    }

    fn allowed(&self) -> Result<(), PublishError> {
        self.permit.decided(self.permit.publish()).map_err(PublishError::Denied)
    }

    fn source(&self, call: &CallContext) -> Provenance {
        Provenance::of(self.permit.plugin(), call)
    }
}

impl Attributes {
    fn check(&self) -> Result<(), String> {
        check_words(self.title.as_deref(), self.description.as_deref())?;
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
        check_words(self.title.as_deref(), self.description.as_deref())?;
        if self.arguments.len() > MAX_ARGUMENTS || self.messages.len() > MAX_MESSAGES || self.messages.is_empty() {
            return Err(format!("a prompt has 1 to {MAX_MESSAGES} messages and up to {MAX_ARGUMENTS} arguments"));
        }
        for (at, name) in self.arguments.iter().enumerate() {
            check_name("an argument", name)?;
            if self.arguments.iter().take(at).any(|earlier| earlier == name) {
                return Err(format!("the argument `{name}` is there twice"));
            }
        }
        Ok(())
    }
}

fn check_path(path: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    // `.` and `..` mean something in a URI, and clients may resolve them.
    let segment = |part: &str| !part.is_empty() && part != "." && part != ".." && part.chars().all(plain);
    if path.len() > MAX_PATH || !path.split('/').all(segment) {
        let shown: String = path.chars().take(MAX_PATH).collect();
        return Err(format!(
            "{shown:?} is not a path: write segments of A-Z a-z 0-9 . _ - with `/` between them, at most {MAX_PATH} bytes"
        ));
    }
    Ok(())
}

fn check_name(of: &str, name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
        let shown: String = name.chars().take(MAX_NAME).collect();
        return Err(format!("{shown:?} is not the name of {of}: write 1 to {MAX_NAME} of A-Z a-z 0-9 _ -"));
    }
    Ok(())
}

fn check_words(title: Option<&str>, description: Option<&str>) -> Result<(), String> {
    if title.is_some_and(|text| text.len() > MAX_TITLE) {
        return Err(format!("the title is longer than {MAX_TITLE} bytes"));
    }
    if description.is_some_and(|text| text.len() > MAX_DESCRIPTION) {
        return Err(format!("the description is longer than {MAX_DESCRIPTION} bytes"));
    }
    for (what, text) in [("title", title), ("description", description)] {
        let line_break = |c| what == "description" && matches!(c, '\n' | '\t');
        if let Some((_, c)) = hidden(text.unwrap_or_default()).find(|(_, c)| !line_break(*c)) {
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
        let with = |priority| Attributes { annotations: hints(priority), ..Attributes::default() };
        assert!(with(0.5).check().is_ok() && with(1.5).check().is_err() && with(f64::NAN).check().is_err());
        let mime = |mime: &str| Attributes { mime_type: Some(mime.into()), ..Attributes::default() };
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
