#![doc = include_str!("../README.md")]
//!
//! # Where to look
//! - [`plugin`] turns a module of functions into a plugin.
//! - [`output`], [`progress`], [`log`], [`client`], [`agent_tools`], [`steering`], [`publish`], [`events`], [`connections`], [`http`], [`state`], [`meter`]
//!   and [`filesystem`] are what a tool may use while it runs, and so may a resource or a prompt.
//! - [`Form`] and [`Choice`] define typed questions to the user.
//! - [`Content`], [`ToolError`] and [`IntoToolResult`] define what a tool returns, [`IntoResource`] and [`IntoPrompt`]
//!   what resources and prompts return.
//! - [`testing`] runs tools natively, with a fake host.

// The attribute refers to this crate by name, even in this crate's own tests.
#![warn(missing_docs)]
extern crate self as portcullis_guest;

pub mod agent_tools;
#[doc(hidden)]
pub mod bindings;
pub mod checkpoint;
pub mod client;
pub mod completion;
pub mod connections;
mod content;
mod convert;
mod denial;
mod error;
pub mod events;
pub mod filesystem;
mod form;
mod host_types;
pub mod http;
mod imports;
pub mod log;
pub mod meter;
pub mod output;
mod plugin;
pub mod progress;
mod prompt;
pub mod publish;
pub mod reconcile;
mod resource;
mod result;
mod schema;
pub mod state;
pub mod steering;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;

pub use bindings::completions::Reference;
pub use bindings::portcullis::plugin::types::{
    Blob, Budget, CallContext as Context, Content, ContentAnnotations, ContentData, Denial, EmbeddedResource,
    Execution, Exhaustion, Icon, ResourceBody, ResourceLink, Role, Tool, ToolAnnotations, ToolResult,
};
pub use bindings::prompts::{Prompt, PromptArgument, PromptMessage, PromptResult};
pub use bindings::resources::{ResourceInfo, ResourceTemplate};
pub use completion::Completion;
pub use content::IntoContent;
pub use error::ToolError;
pub use form::{Choice, Form};
pub use plugin::{Plugin, ToolEntry};
pub use portcullis_guest_macros::{Choice, Form, plugin};
pub use prompt::IntoPrompt;
pub use resource::{IntoResource, ReadError};
pub use result::{IntoToolResult, Json};

/// The version of `portcullis:plugin` that this crate implements.
pub const API_VERSION: &str = "0.1.0";

/// Used by the code that the `plugin` attribute generates; not for direct use, and may change at any time.
#[doc(hidden)]
pub mod __private {
    pub use crate::completion::{IntoCompletion, Typed};
    pub use crate::convert::{
        AnyError, AnyReadError, AsIs, Probe, Structured, TypedError, TypedReadError, parse, variable,
    };
    pub use crate::form::{Field, Filled, FormField, HasLength, Number, Schema, Text, field};
    pub use crate::plugin::{PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
    pub use crate::prompt::PromptText;
    pub use crate::resource::Piece;
    pub use crate::schema::input as input_schema;
    pub use {schemars, serde, serde_json};

    #[cfg(target_arch = "wasm32")]
    pub use crate::bindings::{self, export};
    #[cfg(target_arch = "wasm32")]
    pub use crate::plugin::exports::{Exported, Guest};

    /// `API_VERSION` as the byte array that a custom section needs.
    pub const API: [u8; 5] = *b"0.1.0";
}
