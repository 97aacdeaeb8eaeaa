//! One function marked `#[tool]`.

use syn::ItemFn;

use crate::function::Function;
use crate::kind::TOOL;
use crate::names;
use crate::tool_attr::Options;

/// What the expansion needs to know about a tool.
pub(crate) struct Tool {
    pub(crate) function: Function,
    pub(crate) options: Options,
}

impl Tool {
    /// Takes the tool from `function` if it is one, and leaves a plain function behind.
    pub(crate) fn take(function: &mut ItemFn) -> syn::Result<Option<Self>> {
        let Some(attribute) = TOOL.take(function) else { return Ok(None) };
        let options = Options::parse(&attribute)?;
        let function = Function::take(&TOOL, function, options.name.as_ref(), options.description.as_ref())?;
        names::check(&function.name, "tool")?;
        Ok(Some(Self { function, options }))
    }
}
