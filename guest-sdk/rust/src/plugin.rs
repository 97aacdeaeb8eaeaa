//! A plugin as data: what the attribute generates, the component exports and tests call.

use crate::{Context, Tool, ToolError, ToolResult};

/// The tools of a plugin and what it says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Plugin {
    manifest: &'static str,
    entries: &'static [ToolEntry],
}

/// One tool, as generated.
#[derive(Clone, Copy, Debug)]
pub struct ToolEntry {
    /// The tool's name.
    #[doc(hidden)]
    pub name: &'static str,
    #[doc(hidden)]
    pub describe: fn() -> Tool,
    #[doc(hidden)]
    pub call: fn(&Context, &str) -> Result<ToolResult, ToolError>,
}

impl Plugin {
    #[doc(hidden)]
    pub const fn new(manifest: &'static str, entries: &'static [ToolEntry]) -> Self {
        Self { manifest, entries }
    }

    /// The manifest as JSON, as it is stamped into the component.
    pub fn manifest(&self) -> &'static str {
        self.manifest
    }

    /// Descriptions of all tools.
    pub fn list_tools(&self) -> Vec<Tool> {
        self.entries.iter().map(|entry| (entry.describe)()).collect()
    }

    /// Runs a tool with arguments as JSON text.
    ///
    /// # Errors
    /// What the tool returned as an error, arguments that do not fit its parameters, or an unknown name.
    pub fn call_tool(&self, ctx: &Context, name: &str, arguments: &str) -> Result<ToolResult, ToolError> {
        match self.entries.iter().find(|entry| entry.name == name) {
            Some(entry) => (entry.call)(ctx, arguments),
            None => Err(ToolError::Unsupported(format!("this plugin has no tool named `{name}`"))),
        }
    }
}

/// The component's exports, shared by all plugins.
#[cfg(target_arch = "wasm32")]
pub(crate) mod exports {
    use std::marker::PhantomData;

    use super::Plugin;
    use crate::bindings::exports::portcullis::plugin::tools;
    use crate::bindings::portcullis::plugin::types as wit;

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

        fn call_tool(
            ctx: wit::CallContext,
            name: String,
            arguments: String,
        ) -> Result<wit::ToolResult, wit::ToolError> {
            T::PLUGIN.call_tool(&ctx, &name, &arguments).map_err(Into::into)
        }
    }
}
