//! Options of `#[tool(...)]`.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, LitBool, LitStr, Meta, Token};

/// What the author wrote in the attribute.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) read_only: Option<bool>,
    pub(crate) destructive: Option<bool>,
    pub(crate) idempotent: Option<bool>,
    pub(crate) open_world: Option<bool>,
    pub(crate) execution: Execution,
}

/// Mirrors `execution` of the WIT.
#[derive(Clone, Copy, Default)]
pub(crate) enum Execution {
    #[default]
    Inline,
    MayRunLong,
    TaskOnly,
}

impl Options {
    /// Reads `#[tool]` or `#[tool(...)]`.
    pub(crate) fn parse(attribute: &Attribute) -> syn::Result<Self> {
        let mut options = Self::default();
        if !matches!(attribute.meta, Meta::Path(_)) {
            attribute.parse_nested_meta(|meta| options.option(&meta))?;
        }
        Ok(options)
    }

    fn option(&mut self, meta: &ParseNestedMeta) -> syn::Result<()> {
        match meta.path.get_ident().map(ToString::to_string).as_deref() {
            Some("name") => self.name = Some(meta.value()?.parse()?),
            Some("title") => self.title = Some(meta.value()?.parse()?),
            Some("description") => self.description = Some(meta.value()?.parse()?),
            Some("read_only") => self.read_only = Some(flag(meta)?),
            Some("destructive") => self.destructive = Some(flag(meta)?),
            Some("idempotent") => self.idempotent = Some(flag(meta)?),
            Some("open_world") => self.open_world = Some(flag(meta)?),
            Some("execution") => self.execution = execution(&meta.value()?.parse()?)?,
            _ => {
                return Err(meta.error(
                    "unknown option; known are name, title, description, read_only, destructive, idempotent, open_world \
                     and execution",
                ));
            }
        }
        Ok(())
    }
}

/// `read_only` alone means true.
fn flag(meta: &ParseNestedMeta) -> syn::Result<bool> {
    if meta.input.peek(Token![=]) { Ok(meta.value()?.parse::<LitBool>()?.value) } else { Ok(true) }
}

fn execution(text: &LitStr) -> syn::Result<Execution> {
    match text.value().as_str() {
        "inline" => Ok(Execution::Inline),
        "may-run-long" => Ok(Execution::MayRunLong),
        "task-only" => Ok(Execution::TaskOnly),
        _ => Err(syn::Error::new(text.span(), "execution is \"inline\", \"may-run-long\" or \"task-only\"")),
    }
}
