//! Reads resources, fills in prompts and completes arguments as the host would, with the thread's current fake host.

use crate::completion::Typed;
use crate::{Completion, Context, EmbeddedResource, Plugin, PromptResult, ReadError, Reference, ToolError};

/// Reads a resource.
///
/// # Errors
/// [`ReadError::NotFound`], or the resource's own error.
pub fn read(plugin: &Plugin, uri: &str) -> Result<Vec<EmbeddedResource>, ReadError> {
    read_in(&super::context(), plugin, uri)
}

/// As [`read`], with the given context.
///
/// # Errors
/// As [`read`].
pub fn read_in(ctx: &Context, plugin: &Plugin, uri: &str) -> Result<Vec<EmbeddedResource>, ReadError> {
    plugin.read_resource(ctx, uri)
}

/// Fills in a prompt.
///
/// # Errors
/// The prompt's own error, and arguments that a host would refuse.
pub fn prompt(plugin: &Plugin, name: &str, arguments: &[(&str, &str)]) -> Result<PromptResult, ToolError> {
    prompt_in(&super::context(), plugin, name, arguments)
}

/// As [`prompt`], with the given context.
///
/// # Errors
/// As [`prompt`].
pub fn prompt_in(
    ctx: &Context,
    plugin: &Plugin,
    name: &str,
    arguments: &[(&str, &str)],
) -> Result<PromptResult, ToolError> {
    if let Some(prompt) = plugin.list_prompts().into_iter().find(|prompt| prompt.name == name) {
        let declared = |given: &str| prompt.arguments.iter().any(|argument| argument.name == given);
        if let Some((unknown, _)) = arguments.iter().find(|(given, _)| !declared(given)) {
            return Err(ToolError::invalid(format_args!("the prompt has no argument `{unknown}`")));
        }
    }
    let arguments: Vec<_> = arguments.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    plugin.get_prompt(ctx, name, &arguments)
}

/// Completes an argument of a prompt; `value` is the text typed so far.
///
/// # Errors
/// The suggesting function's own error, or an unknown prompt.
pub fn complete_prompt(plugin: &Plugin, name: &str, argument: &str, value: &str) -> Result<Completion, ToolError> {
    plugin.complete(&Reference::Prompt(name.to_owned()), argument, &Typed::new(&super::context(), value, &[]))
}

/// Completes a variable of a resource template; `value` is the text typed so far.
///
/// # Errors
/// As [`complete_prompt`].
pub fn complete_template(
    plugin: &Plugin,
    uri_template: &str,
    variable: &str,
    value: &str,
) -> Result<Completion, ToolError> {
    let reference = Reference::ResourceTemplate(uri_template.to_owned());
    plugin.complete(&reference, variable, &Typed::new(&super::context(), value, &[]))
}
