//! The component's exports, shared by all plugins. The attribute exports only the kinds that a plugin offers.

use std::marker::PhantomData;

use super::Plugin;
use crate::ReadError;
use crate::bindings::exports::portcullis::plugin::tools;
use crate::bindings::portcullis::plugin::types as wit;
use crate::bindings::{completions, prompts, reconcile, resources};
use crate::completion::Typed;
use crate::reconcile::Doubt;

/// Names the plugin to export.
pub trait Exported {
    /// The plugin.
    const PLUGIN: Plugin;
}

/// Exports the plugin of `T`.
pub struct Guest<T>(PhantomData<T>);

impl<T: Exported> tools::Guest for Guest<T> {
    fn list_tools() -> Vec<wit::Tool> {
        T::PLUGIN.list_tools()
    }

    fn call_tool(ctx: wit::CallContext, name: String, arguments: String) -> Result<wit::ToolResult, wit::ToolError> {
        T::PLUGIN.call_tool(&ctx, &name, &arguments).map_err(Into::into)
    }
}

impl<T: Exported> resources::Guest for Guest<T> {
    fn list_resources() -> Vec<resources::ResourceInfo> {
        T::PLUGIN.list_resources()
    }

    fn list_templates() -> Vec<resources::ResourceTemplate> {
        T::PLUGIN.list_templates()
    }

    fn read_resource(ctx: wit::CallContext, uri: String) -> Result<Vec<wit::EmbeddedResource>, resources::ReadError> {
        T::PLUGIN.read_resource(&ctx, &uri).map_err(|error| match error {
            ReadError::NotFound => resources::ReadError::NotFound,
            ReadError::Failed(error) => resources::ReadError::Failed(error.into()),
        })
    }
}

impl<T: Exported> prompts::Guest for Guest<T> {
    fn list_prompts() -> Vec<prompts::Prompt> {
        T::PLUGIN.list_prompts()
    }

    fn get_prompt(
        ctx: wit::CallContext,
        name: String,
        arguments: Vec<(String, String)>,
    ) -> Result<prompts::PromptResult, wit::ToolError> {
        T::PLUGIN.get_prompt(&ctx, &name, &arguments).map_err(Into::into)
    }
}

impl<T: Exported> completions::Guest for Guest<T> {
    fn complete(
        ctx: wit::CallContext,
        reference: completions::Reference,
        argument: String,
        value: String,
        context: Vec<(String, String)>,
    ) -> Result<completions::Completion, wit::ToolError> {
        let typed = Typed::new(&ctx, &value, &context);
        T::PLUGIN.complete(&reference, &argument, &typed).map_err(Into::into)
    }
}

impl<T: Exported> reconcile::Guest for Guest<T> {
    fn reconcile(
        ctx: wit::CallContext,
        name: String,
        arguments: String,
        doubt: reconcile::EffectInDoubt,
    ) -> reconcile::Verdict {
        let (of, step) = ((&*name, &*arguments), (&*doubt.step, &*doubt.name));
        T::PLUGIN.reconcile(&Doubt::new(&ctx, of, step, &doubt.effect))
    }
}
