//! Questions to the other side of the call: its user, its model, its workspace.
//!
//! Needs a request in the manifest, such as `#[plugin(requests(client(form, sample)))]`, and a grant of the operator.
//! Each function here makes a question; [`Question::ask`] puts it and waits for the answer, however long that takes:
//! waiting costs no fuel, and the call's deadline stands still. [`ask_many`] puts several at once.
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
//! A tool that cannot go on without a client that answers ends by `?`: [`ClientError::Unsupported`] becomes
//! [`ToolError::Unsupported`](crate::ToolError::Unsupported), and nothing after it is done.

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

/// What the client of this call can answer now. Asking for anything else gives [`ClientError::Unsupported`].
pub fn supported() -> Abilities {
    imports::supported()
}

/// A form for the user, made of a type that derives [`Form`].
pub fn form<F: Form>(message: impl Into<String>) -> Question<Answer<F>> {
    question::form(message.into(), F::schema(), F::read)
}

/// The same with values that are known only now, such as a model's guess: `start` is an object of some fields' values, which
/// the form starts with. What is no field, or does not fit its type, is left out.
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

/// A form for the user, made of a JSON Schema: an object whose properties are plain or enumerated strings, numbers,
/// booleans, or lists of enumerated strings. `schema` is JSON text or a [`Value`].
pub fn raw_form(message: impl Into<String>, schema: impl Display) -> Question<Answer<Value>> {
    question::form(message.into(), schema.to_string(), |answer| serde_json::from_str(answer))
}

/// Asks the user for a yes. Whatever else happens is a no or an error, so what follows `?` and a look at the answer is
/// never done unconfirmed.
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
/// granted. The answer says whether the user agreed to open it, not what happened there.
pub fn open_url(message: impl Into<String>, address: impl Into<String>) -> Question<Consent> {
    question::url(message.into(), wit::UrlTarget::Address(address.into()))
}

/// Asks the user to connect an account: `connection` is one that the operator has set up. Accepted means connected, so
/// [`connections`](crate::connections) can use it.
pub fn connect(message: impl Into<String>, connection: impl Into<String>) -> Question<Consent> {
    question::url(message.into(), wit::UrlTarget::Connect(connection.into()))
}

/// Asks the client's model to go on from this message of the user's.
pub fn sample(message: impl Into<SampleContent>) -> Sample {
    Sample::new().user(message)
}

/// Asks for the client's roots: the folders or repositories that its user works in.
pub fn roots() -> Question<Vec<Root>> {
    question::roots()
}
