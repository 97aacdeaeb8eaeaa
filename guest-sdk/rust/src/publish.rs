//! Resources and prompts that a call creates.
//!
//! Each belongs to the principal of that call and carries the plugin's name as its source. It is removed when its time
//! is up or the host restarts. Needs a request in the manifest, `#[plugin(requests(publish))]`, and a grant of the
//! operator.
//!
//! ```no_run
//! use portcullis_guest::{ToolError, publish};
//! use std::time::Duration;
//!
//! fn keep(report: &str) -> Result<String, ToolError> {
//!     publish::resource("runs/log").text("one more run\n").append()?;
//!     publish::prompt("explain").argument("line").user("Explain line {{line}} of the report.").put()?;
//!     let report = publish::resource("reports/today").text(report).mime_type("text/markdown");
//!     Ok(report.title("Today").ttl(Duration::from_secs(3600)).put()?)
//! }
//! ```

use std::time::Duration;

use crate::bindings::portcullis::plugin::publish as wit;
use crate::host_types::publish::no_attributes;
use crate::{ResourceBody, Role, imports};

pub use crate::host_types::publish::PublishError;

/// The path of a resource. `path` consists of segments of `[A-Za-z0-9._-]` with `/` between them, at most 128
/// characters.
pub fn resource(path: impl Into<String>) -> Place {
    Place { path: path.into() }
}

/// Removes a resource.
///
/// # Errors
/// See [`PublishError`].
pub fn remove(path: &str) -> Result<(), PublishError> {
    imports::remove_resource(path)
}

/// A prompt. Its name has 1 to 64 characters of `[A-Za-z0-9_-]`; clients see it as `<plugin>__<name>`. It never reaches
/// a model unless the user chooses it.
pub fn prompt(name: impl Into<String>) -> Prompt {
    Prompt(wit::PublishedPrompt {
        name: name.into(),
        title: None,
        description: None,
        arguments: Vec::new(),
        messages: Vec::new(),
        ttl_ms: None,
    })
}

/// Removes a prompt.
///
/// # Errors
/// See [`PublishError`].
pub fn remove_prompt(name: &str) -> Result<(), PublishError> {
    imports::remove_prompt(name)
}

/// A path whose resource has no content yet.
#[must_use = "nothing is published before `put` or `append`"]
#[derive(Clone, Debug)]
pub struct Place {
    path: String,
}

impl Place {
    /// A resource with this text.
    pub fn text(self, text: impl Into<String>) -> Resource {
        self.of(ResourceBody::Text(text.into()))
    }

    /// A resource with these bytes.
    pub fn bytes(self, data: Vec<u8>) -> Resource {
        self.of(ResourceBody::Blob(data))
    }

    fn of(self, body: ResourceBody) -> Resource {
        Resource { path: self.path, body, attributes: no_attributes() }
    }
}

/// A resource to be published.
#[must_use = "nothing is published before `put` or `append`"]
#[derive(Clone, Debug)]
pub struct Resource {
    path: String,
    body: ResourceBody,
    attributes: wit::Attributes,
}

impl Resource {
    /// Sets a name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.attributes.title = Some(title.into());
        self
    }

    /// Sets the description of the content.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.attributes.description = Some(description.into());
        self
    }

    /// Sets the media type, such as `text/markdown`.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.attributes.mime_type = Some(mime_type.into());
        self
    }

    /// Sets the intended audience; everybody by default.
    pub fn for_role(mut self, role: Role) -> Self {
        self.attributes.audience.push(role);
        self
    }

    /// Sets the importance, from 0.0 to 1.0.
    pub fn priority(mut self, priority: f64) -> Self {
        self.attributes.priority = Some(priority);
        self
    }

    /// Sets how long it stays; by default as long as the operator allows.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.attributes.ttl_ms = Some(milliseconds(ttl));
        self
    }

    /// Creates or replaces the resource and returns its URI.
    ///
    /// # Errors
    /// See [`PublishError`]; `?` ends the call with the matching [`ToolError`](crate::ToolError).
    pub fn put(self) -> Result<String, PublishError> {
        imports::put_resource(&self.path, self.body, self.attributes)
    }

    /// Appends to a resource of the same kind, text or bytes, or creates it; returns its URI. The title and the other
    /// attributes are ignored here: only `put` sets them.
    ///
    /// # Errors
    /// As [`Resource::put`].
    pub fn append(self) -> Result<String, PublishError> {
        imports::append_resource(&self.path, self.body)
    }
}

/// A prompt to be published. In its messages, `{{name}}` is replaced by the client's value of an argument.
#[must_use = "nothing is published before `put`"]
#[derive(Clone, Debug)]
pub struct Prompt(wit::PublishedPrompt);

impl Prompt {
    /// Sets a name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.0.title = Some(title.into());
        self
    }

    /// Sets the description of its purpose.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.0.description = Some(description.into());
        self
    }

    /// Adds an argument.
    pub fn argument(mut self, name: impl Into<String>) -> Self {
        self.0.arguments.push(name.into());
        self
    }

    /// Adds a message from the user.
    pub fn user(self, text: impl Into<String>) -> Self {
        self.message(Role::User, text.into())
    }

    /// Adds a message from the model.
    pub fn assistant(self, text: impl Into<String>) -> Self {
        self.message(Role::Assistant, text.into())
    }

    fn message(mut self, role: Role, text: String) -> Self {
        self.0.messages.push(wit::PublishedMessage { role, text });
        self
    }

    /// Sets how long it stays; by default as long as the operator allows.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.0.ttl_ms = Some(milliseconds(ttl));
        self
    }

    /// Creates or replaces the prompt.
    ///
    /// # Errors
    /// See [`PublishError`]; `?` ends the call with the matching [`ToolError`](crate::ToolError).
    pub fn put(self) -> Result<(), PublishError> {
        imports::put_prompt(self.0)
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
