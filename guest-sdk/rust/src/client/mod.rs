//! Questions to the client of the call: its user, its model, its workspace.
//!
//! Needs a request in the manifest, such as `#[plugin(requests(client(form, sample)))]`, and a grant of the operator.
//! Each function here makes a question; [`Question::ask`] sends it and waits for the answer. Waiting costs no fuel, and
//! it pauses the call's deadline. [`ask_many`] asks several questions at once.
//!
//! ```no_run
//! use portcullis_guest::{Choice, Form, ToolError, client};
//!
//! #[derive(Form)]
//! struct Trip {
//!     /// A city's name.
//!     destination: String,
//!     #[form(range(min = 1, max = 14), default = 3)]
//!     nights: u8,
//!     #[form(title = "Travel class", default = Class::Economy)]
//!     class: Class,
//!     notes: Option<String>,
//! }
//!
//! #[derive(Choice, Debug)]
//! enum Class {
//!     Economy,
//!     #[form(title = "Business class")]
//!     Business,
//! }
//!
//! fn book() -> Result<String, ToolError> {
//!     let Some(trip) = client::form::<Trip>("Where to?").ask()?.accepted() else {
//!         return Ok("Nothing was booked.".into());
//!     };
//!     client::confirm(format!("Book {} nights in {}?", trip.nights, trip.destination)).ask()?.or_stop()?;
//!     let farewell = client::sample(format!("Wish a good trip to {}.", trip.destination)).max_tokens(60).ask()?;
//!     Ok(farewell.text())
//! }
//! ```
//!
//! If the client cannot answer, `?` ends the tool: [`ClientError::Unsupported`] becomes
//! [`ToolError::Unsupported`](crate::ToolError::Unsupported), and the code after it does not run.

mod answer;
mod question;
mod sample;

use std::fmt::Display;

use serde_json::Value;

use crate::bindings::portcullis::plugin::client as wit;
use crate::{Form, imports};

pub use crate::bindings::portcullis::plugin::client::{
    Abilities, Consent, Root, SampleAnswer, SampleContent, SampleMessage, SampleTool, ToolChoice, ToolOutcome, ToolUse,
};
pub use crate::host_types::client::{Answer, ClientError};
pub use answer::Confirmation;
pub use question::{IntoQuestion, Question, Questions, ask_many};
pub use sample::Sample;

/// The kinds of questions that the client of this call can answer. Any other gives [`ClientError::Unsupported`].
pub fn supported() -> Abilities {
    imports::supported()
}

/// A form for the user, from a type that derives [`Form`].
pub fn form<F: Form>(message: impl Into<String>) -> Question<Answer<F>> {
    question::form(message.into(), F::schema(), F::read)
}

/// As [`form()`], with initial values that are known only at run time, such as a model's guess: `start` is an object
/// with values of some fields. Unknown fields and values of the wrong type are ignored.
///
/// ```no_run
/// # use portcullis_guest::{Form, ToolError, client};
/// # use serde_json::json;
/// #[derive(Form)]
/// struct Trip {
///     destination: String,
///     nights: u8,
/// }
///
/// # fn ask() -> Result<(), ToolError> {
/// let trip = client::prefilled_form::<Trip>("Where to?", &json!({ "destination": "Oslo" })).ask()?;
/// # Ok(()) }
/// ```
pub fn prefilled_form<F: Form>(message: impl Into<String>, start: &Value) -> Question<Answer<F>> {
    question::form(message.into(), F::fields().start_with(start).into_text(), F::read)
}

/// A form for the user, from a JSON Schema: an object whose properties are plain or enumerated strings, numbers,
/// booleans, or lists of enumerated strings. `schema` is JSON text or a [`Value`].
pub fn raw_form(message: impl Into<String>, schema: impl Display) -> Question<Answer<Value>> {
    question::form(message.into(), schema.to_string(), |answer| serde_json::from_str(answer))
}

/// Asks the user to confirm. Any other outcome is a no or an error, so code that runs after `ask()?.or_stop()?` is
/// always confirmed.
///
/// ```no_run
/// # use portcullis_guest::{ToolError, client};
/// # fn delete() -> Result<(), ToolError> {
/// client::confirm("Delete 3 files?").ask()?.or_stop()?;
/// # Ok(()) }
/// ```
pub fn confirm(message: impl Into<String>) -> Question<Confirmation> {
    question::confirmation(message.into())
}

/// Asks the user to open a page, outside the client and its model. `address` starts with `https:`, and its host must be
/// granted. The answer says whether the user agreed to open it, not what happened on the page.
pub fn open_url(message: impl Into<String>, address: impl Into<String>) -> Question<Consent> {
    question::url(message.into(), wit::UrlTarget::Address(address.into()))
}

/// Asks the user to connect an account: `connection` is one that the operator has set up. If the user accepts,
/// [`connections`](crate::connections) can use it.
pub fn connect(message: impl Into<String>, connection: impl Into<String>) -> Question<Consent> {
    question::url(message.into(), wit::UrlTarget::Connect(connection.into()))
}

/// Asks the client's model to continue from this user message.
pub fn sample(message: impl Into<SampleContent>) -> Sample {
    Sample::new().user(message)
}

/// Asks for the client's roots: the folders or repositories that its user works in.
pub fn roots() -> Question<Vec<Root>> {
    question::roots()
}
