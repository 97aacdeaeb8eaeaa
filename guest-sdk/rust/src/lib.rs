#![doc = include_str!("../README.md")]
//!
//! # Where to look
//! - [`plugin`] turns a module of functions into a plugin.
//! - [`output`], [`progress`], [`log`], [`agent_tools`], [`meter`] and [`filesystem`] are what a tool may use while it runs.
//! - [`Content`], [`ToolError`] and [`IntoToolResult`] shape what it returns.
//! - [`testing`] runs tools natively, with a fake host.

// The attribute refers to this crate by name, also in this crate's own tests.
extern crate self as portcullis_guest;

pub mod agent_tools;
#[doc(hidden)]
pub mod bindings;
mod content;
mod convert;
mod denial;
mod error;
pub mod filesystem;
mod imports;
pub mod log;
pub mod meter;
pub mod output;
mod plugin;
pub mod progress;
mod result;
mod schema;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;

pub use bindings::portcullis::plugin::types::{
    Blob, Budget, CallContext as Context, Content, ContentAnnotations, ContentData, Denial, EmbeddedResource,
    Execution, Exhaustion, Icon, ResourceBody, ResourceLink, Role, Tool, ToolAnnotations, ToolResult,
};
pub use content::IntoContent;
pub use error::ToolError;
pub use plugin::{Plugin, ToolEntry};
pub use portcullis_guest_macros::plugin;
pub use result::{IntoToolResult, Json};

/// The version of `portcullis:plugin` that plugins built with this crate speak.
pub const API_VERSION: &str = "0.1.0";

/// What the `plugin` attribute generates refers to these; not for use by hand and free to change.
#[doc(hidden)]
pub mod __private {
    pub use crate::ToolEntry;
    pub use crate::convert::{AnyError, AsIs, Probe, Structured, TypedError, parse};
    pub use crate::schema::input as input_schema;
    pub use {schemars, serde};

    #[cfg(target_arch = "wasm32")]
    pub use crate::bindings::{self, export};
    #[cfg(target_arch = "wasm32")]
    pub use crate::plugin::exports::{Exported, Guest};

    /// `API_VERSION` in the shape that a custom section needs.
    pub const API: [u8; 5] = *b"0.1.0";
}
