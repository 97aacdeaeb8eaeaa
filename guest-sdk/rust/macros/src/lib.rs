//! The macros of `portcullis-guest`; use them through that crate.

mod args;
mod choice;
mod docs;
mod expand;
mod form;
mod function;
mod kind;
mod manifest;
mod names;
mod plugin;
mod prompt;
mod resource;
mod tool;
mod tool_attr;
mod uri;

use proc_macro::TokenStream;

/// Turns a module of plain functions into a plugin.
///
/// Every function marked `#[tool]` becomes an MCP tool:
/// - its doc comment is the description (required), its name the tool's name;
/// - its parameters become the input schema: `Option<T>` and `#[arg(default = ...)]` may be left out by the caller,
///   doc comments on parameters become property descriptions, unknown properties are refused;
/// - `ctx: &Context` as first parameter receives the context of the call;
/// - its result becomes content, and structured content with an output schema when the type is a JSON object;
///   an `Err` becomes a failed call.
///
/// A plugin may offer resources and prompts in the same way:
/// - `#[resource(uri = "weather://today")]`: the function returns the resource's contents;
/// - `#[resource_template(uri_template = "weather://{city}/today")]`: the same, with the variables as parameters, of
///   any type that implements `FromStr`;
/// - `#[prompt]`: the parameters are the arguments, `String` or `Option<String>`; the function returns the messages;
/// - `#[arg(complete = ...)]` on a parameter of a prompt or template: a list of suggested values, or a function that
///   returns them.
///
/// `#[reconcile]` marks the function that finds out about effects in doubt, `fn(&Doubt) -> Verdict`; see the module
/// `reconcile`.
///
/// Options of `#[plugin(...)]`: `name`, `version`, `description` (default: those of the Cargo package),
/// `survive = "power-loss"` (the steps of its tasks should survive that; the operator decides) and
/// `requests(filesystem = "read" | "write", agent_tools = ["notes.add"], client(form, url, sample, roots), publish,
/// events = ["policy.*"], connections = ["github"], http = ["GET https://api.example.com/"], secrets = ["example"])`.
///
/// Options of `#[tool(...)]`: `name`, `title`, `description`, the hints `read_only`, `destructive`, `idempotent`,
/// `open_world` (alone, or `= true`/`= false`) and `execution = "inline" | "may-run-long" | "task-only"`.
///
/// Options of `#[resource(...)]`: `uri`, `name`, `title`, `description`, `mime_type`, `size`, `audience = "user" |
/// "assistant"`, `priority` from 0.0 to 1.0. Those of `#[resource_template(...)]`: the same, with `uri_template` for
/// `uri` and without `size`.
///
/// Options of `#[prompt(...)]`: `name`, `title`, `description`; of its parameters `#[arg(title = "...")]`.
///
/// The module gains a constant `PLUGIN`, which tests can call natively.
#[proc_macro_attribute]
pub fn plugin(options: TokenStream, item: TokenStream) -> TokenStream {
    plugin::expand(options.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Derives a form from a struct; see the trait `Form`.
#[proc_macro_derive(Form, attributes(form))]
pub fn form(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    form::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Derives a choice for forms from an enum; see the trait `Choice`.
#[proc_macro_derive(Choice, attributes(form))]
pub fn choice(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    choice::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
