//! Lets generated code select a conversion by type, without the author naming one.
//!
//! Rust has no specialisation, but method resolution prefers a method that needs fewer references: `Probe<T>` has the
//! special conversion when `T` implements the special trait, and only `&Probe<T>` has the general one.

use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{IntoToolResult, Json, ReadError, ToolError, ToolResult};

/// Represents the type whose conversion is selected.
pub struct Probe<T>(PhantomData<fn() -> T>);

impl<T> Probe<T> {
    /// Creates a probe for a type known by name.
    #[allow(clippy::new_without_default, reason = "only generated code makes probes")]
    pub fn new() -> Self {
        Self(PhantomData)
    }

    /// Creates a probe for the type of a value.
    pub fn of(_: &T) -> Self {
        Self::new()
    }
}

/// The type converts to a tool result itself.
pub trait AsIs {
    /// Selects the conversion.
    fn result_kind(&self) -> AsIsKind {
        AsIsKind
    }
}

impl<T: IntoToolResult> AsIs for Probe<T> {}

/// The type is returned as JSON.
pub trait Structured {
    /// Selects the conversion.
    fn result_kind(&self) -> StructuredKind {
        StructuredKind
    }
}

impl<T> Structured for &Probe<T> {}

/// See [`AsIs`].
pub struct AsIsKind;

impl AsIsKind {
    /// The type's own output schema.
    pub fn schema<T: IntoToolResult>(self) -> Option<String> {
        T::output_schema()
    }

    /// The type's own conversion.
    pub fn convert<T: IntoToolResult>(self, value: T) -> Result<ToolResult, ToolError> {
        value.into_tool_result()
    }
}

/// See [`Structured`]. The bounds are here and not on the trait, so that a type without them gets a specific error.
pub struct StructuredKind;

impl StructuredKind {
    /// The schema as JSON.
    pub fn schema<T: Output>(self) -> Option<String> {
        Json::<T>::output_schema()
    }

    /// The value as JSON.
    pub fn convert<T: Output>(self, value: T) -> Result<ToolResult, ToolError> {
        Json(value).into_tool_result()
    }
}

/// Types that [`Json`] can return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a tool",
    label = "not a tool's result",
    note = "derive `serde::Serialize` and `schemars::JsonSchema` for it, or return (), a string, `Content`, `Vec<Content>` or `ToolResult`"
)]
pub trait Output: Serialize + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> Output for T {}

/// The error converts to `ToolError` and keeps its meaning.
pub trait TypedError {
    /// Selects the conversion.
    fn error_kind(&self) -> TypedErrorKind {
        TypedErrorKind
    }
}

impl<E: Into<ToolError>> TypedError for Probe<E> {}

/// The error only has a text.
pub trait AnyError {
    /// Selects the conversion.
    fn error_kind(&self) -> AnyErrorKind {
        AnyErrorKind
    }
}

impl<E> AnyError for &Probe<E> {}

/// Errors that a failure can show.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool, a resource or a prompt",
    label = "has no text",
    note = "implement `std::fmt::Display` for it, or return a `ToolError`"
)]
pub trait Message: Display {}

#[diagnostic::do_not_recommend]
impl<T: Display> Message for T {}

/// See [`TypedError`].
pub struct TypedErrorKind;

impl TypedErrorKind {
    /// The error itself.
    pub fn convert<E: Into<ToolError>>(self, error: E) -> ToolError {
        error.into()
    }
}

/// See [`AnyError`].
pub struct AnyErrorKind;

impl AnyErrorKind {
    /// A failure with the error's text. The alternate format adds the causes, for error types that support it.
    pub fn convert<E: Message>(self, error: E) -> ToolError {
        ToolError::Failed(format!("{error:#}"))
    }
}

/// The error converts to `ReadError` and keeps its meaning.
pub trait TypedReadError {
    /// Selects the conversion.
    fn read_error_kind(&self) -> TypedReadErrorKind {
        TypedReadErrorKind
    }
}

impl<E: Into<ReadError>> TypedReadError for Probe<E> {}

/// The error only has a text.
pub trait AnyReadError {
    /// Selects the conversion.
    fn read_error_kind(&self) -> AnyReadErrorKind {
        AnyReadErrorKind
    }
}

impl<E> AnyReadError for &Probe<E> {}

/// See [`TypedReadError`].
pub struct TypedReadErrorKind;

impl TypedReadErrorKind {
    /// The error itself.
    pub fn convert<E: Into<ReadError>>(self, error: E) -> ReadError {
        error.into()
    }
}

/// See [`AnyReadError`].
pub struct AnyReadErrorKind;

impl AnyReadErrorKind {
    /// A failure with the error's text.
    pub fn convert<E: Message>(self, error: E) -> ReadError {
        ReadError::Failed(AnyErrorKind.convert(error))
    }
}

/// Reads a variable of a URI. If the value does not fit its type, there is no such resource.
///
/// # Errors
/// [`ReadError::NotFound`]
pub fn variable<T: FromStr>(value: Option<String>) -> Result<T, ReadError> {
    value.and_then(|value| value.parse().ok()).ok_or(ReadError::NotFound)
}

/// Reads the arguments. The host has checked them against the schema, so this fails only where Rust's types are
/// narrower than the schema.
///
/// # Errors
/// When the text does not fit `T`.
pub fn parse<'de, T: Deserialize<'de>>(arguments: &'de str) -> Result<T, ToolError> {
    serde_json::from_str(arguments).map_err(ToolError::invalid)
}
