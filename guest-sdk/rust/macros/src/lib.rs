//! The `plugin` attribute of `portcullis-guest`; use it through that crate.

mod args;
mod docs;
mod expand;
mod manifest;
mod names;
mod plugin;
mod tool;
mod tool_attr;

use proc_macro::TokenStream;

/// Turns a module of plain functions into a plugin.
///
/// Every function marked `#[tool]` becomes an MCP tool:
/// - its doc comment is the description (required), its name the tool's name;
/// - its parameters become the input schema: `Option<T>` and `#[arg(default = ...)]` may be left out by the caller,
///   doc comments on parameters become property descriptions, unknown properties are refused;
/// - `ctx: &Context` as first parameter receives what the call is told about itself;
/// - its result becomes content, and structured content with an output schema when the type is a JSON object;
///   an `Err` becomes a failed call.
///
/// Options of `#[plugin(...)]`: `name`, `version`, `description` (default: those of the Cargo package) and
/// `requests(filesystem = "read" | "write", agent_tools = ["notes.add"])`.
///
/// Options of `#[tool(...)]`: `name`, `title`, `description`, the hints `read_only`, `destructive`, `idempotent`,
/// `open_world` (alone, or `= true`/`= false`) and `execution = "inline" | "may-run-long" | "task-only"`.
///
/// The module gains a constant `PLUGIN`, which tests call natively.
#[proc_macro_attribute]
pub fn plugin(options: TokenStream, item: TokenStream) -> TokenStream {
    plugin::expand(options.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
