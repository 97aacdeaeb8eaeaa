//! One function marked `#[prompt]`.

use syn::meta::ParseNestedMeta;
use syn::{ItemFn, LitStr, Meta};

use crate::function::Function;
use crate::kind::PROMPT;
use crate::names;

/// What the expansion needs to know about a prompt.
pub(crate) struct Prompt {
    pub(crate) function: Function,
    pub(crate) title: Option<LitStr>,
}

/// What the author wrote in the attribute.
#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    title: Option<LitStr>,
    description: Option<LitStr>,
}

impl Prompt {
    /// Takes the prompt from `function` if it is one, and leaves a plain function behind.
    pub(crate) fn take(function: &mut ItemFn) -> syn::Result<Option<Self>> {
        let Some(attribute) = PROMPT.take(function) else { return Ok(None) };
        let mut options = Options::default();
        if !matches!(attribute.meta, Meta::Path(_)) {
            attribute.parse_nested_meta(|meta| options.option(&meta))?;
        }
        let function = Function::take(&PROMPT, function, options.name.as_ref(), options.description.as_ref())?;
        names::check(&function.name, "prompt")?;
        Ok(Some(Self { function, title: options.title }))
    }
}

impl Options {
    fn option(&mut self, meta: &ParseNestedMeta) -> syn::Result<()> {
        let place = match meta.path.get_ident().map(ToString::to_string).as_deref() {
            Some("name") => &mut self.name,
            Some("title") => &mut self.title,
            Some("description") => &mut self.description,
            _ => return Err(meta.error("unknown option; known are name, title and description")),
        };
        *place = Some(meta.value()?.parse()?);
        Ok(())
    }
}
