//! Typed forms: the traits and types behind `#[derive(Form)]` and `#[derive(Choice)]`.

mod choice;
mod field;
mod schema;

use serde::de::Error as _;
use serde_json::{Map, Value};

pub use choice::Choice;
pub use field::{FormField, HasLength, Number, Text};
pub use schema::{Field, Schema, field};

/// A struct that a user can fill in as a form, by `#[derive(Form)]`.
///
/// Forms are flat: each field is a `String`, `bool`, number, an enum with `#[derive(Choice)]`, a `Vec` of such an enum,
/// or an `Option` of these, which may be left empty. Doc comments are descriptions.
///
/// | `#[form(...)]` on a field | |
/// |---|---|
/// | `title = "..."` | the field's label |
/// | `description = "..."` | instead of a doc comment |
/// | `rename = "..."` | another name on the wire |
/// | `format = "email"`, `"uri"`, `"date"`, `"date-time"` | the format of a text |
/// | `length(min = 1, max = 80)` | the length of a text, or the number of items in a list |
/// | `range(min = 1, max = 14)` | bounds of a number; small integer types have theirs by default |
/// | `default = ...`, `default` | the initial value; the field may be left out |
///
/// ```
/// use portcullis_guest::{Choice, Form};
///
/// #[derive(Form)]
/// struct Order {
///     /// Where to send the bill.
///     #[form(format = "email")]
///     email: String,
///     #[form(range(min = 1), default = 1)]
///     pieces: u8,
///     size: Option<Size>,
/// }
///
/// #[derive(Choice)]
/// enum Size {
///     Small,
///     Large,
/// }
///
/// let order = Order::read(r#"{ "email": "ada@example.com", "size": "Large" }"#).unwrap();
/// assert_eq!(order.pieces, 1);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a form",
    note = "derive `Form` for a struct with named fields; for a JSON Schema of your own there is `client::raw_form`"
)]
pub trait Form: Sized + 'static {
    /// The fields, as generated.
    #[doc(hidden)]
    fn fields() -> Schema;

    /// JSON Schema of the answer; its properties are in the order of the fields.
    fn schema() -> String {
        Self::fields().into_text()
    }

    /// Reads an answer, JSON text that the host has checked against the schema.
    ///
    /// # Errors
    /// When the text does not fit. The host lets that through only where Rust's types are narrower than the schema.
    fn read(answer: &str) -> serde_json::Result<Self>;
}

/// A filled-in form, for generated code that takes its fields.
#[derive(Debug)]
pub struct Filled(Map<String, Value>);

impl Filled {
    /// Reads the answer's object.
    ///
    /// # Errors
    /// When the answer is not an object.
    pub fn new(answer: &str) -> serde_json::Result<Self> {
        serde_json::from_str(answer).map(Self)
    }

    /// Takes a field.
    ///
    /// # Errors
    /// When its value does not fit, or it is missing and not optional.
    pub fn take<T: FormField>(&mut self, name: &str) -> serde_json::Result<T> {
        self.find(name)?
            .or_else(T::absent)
            .ok_or_else(|| serde_json::Error::custom(format_args!("`{name}` is missing")))
    }

    /// Takes a field that has a default.
    ///
    /// # Errors
    /// When its value does not fit.
    pub fn take_or<T: FormField>(&mut self, name: &str, default: fn() -> T::Plain) -> serde_json::Result<T> {
        Ok(self.find(name)?.unwrap_or_else(|| T::from_plain(default())))
    }

    fn find<T: FormField>(&mut self, name: &str) -> serde_json::Result<Option<T>> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match T::read(&value) {
                Some(read) => Ok(Some(read)),
                None => Err(serde_json::Error::custom(format_args!("`{name}` is {value}, which does not fit"))),
            },
        }
    }
}
