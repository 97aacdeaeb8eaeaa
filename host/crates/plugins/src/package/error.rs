//! Why a component is not a plugin for this host.

use super::api::{API_VERSION, TOOLS_INTERFACE};
use platform::telemetry;
use platform::text::truncate_chars;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InspectError {
    #[error("it is {} MiB, larger than the limit of {} MiB", size >> 20, limit >> 20)]
    TooLarge { size: u64, limit: u64 },
    #[error("it is not WebAssembly: {0}")]
    NotWasm(&'static str),
    /// The text says what to do.
    #[error("{0}")]
    CoreModule(&'static str),
    #[error("it is not a valid component: {0}")]
    Invalid(String),
    #[error(
        "it is built for portcullis:plugin {found}; this host offers {API_VERSION}. Build the plugin with a matching SDK"
    )]
    WrongApi { found: String },
    #[error(
        "it is not a valid component without asynchronous functions, streams and futures, which this host does not run, since it \
         could not count the stacks of tasks and the copies in streams as memory and fuel; build it for WASI 0.2: {0}"
    )]
    Asynchronous(String),
    #[error(
        "it exports act:tools/tool-provider, whose functions are asynchronous (WASI 0.3), and this host runs no asynchronous \
         functions, since it could not count the stacks of tasks and the copies in streams as memory and fuel; give it the \
         synchronous tier, a component that exports act:tools-sync/tool-provider-sync, and do not compose \
         that with its shim"
    )]
    AsynchronousAct,
    #[error(
        "it does not export {TOOLS_INTERFACE}, nor resources or prompts instead, nor functions of its own alone; it exports: {exports}"
    )]
    WrongWorld { exports: String },
    #[error("its manifest is invalid: {0}")]
    Manifest(String),
    #[error("it has {count} {what}, more than the limit of {limit}")]
    TooMany { what: &'static str, count: u64, limit: u64 },
}

/// Text from the file for messages: shortened and escaped.
pub(super) fn printable(text: &str) -> String {
    telemetry::printable(truncate_chars(text, 300)).into_owned()
}
