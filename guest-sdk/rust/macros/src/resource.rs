//! One function marked `#[resource(...)]` or `#[resource_template(...)]`.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, Expr, ItemFn, LitInt, LitStr, Meta};

use crate::args::Arg;
use crate::function::Function;
use crate::kind::{Kind, RESOURCE, TEMPLATE};
use crate::uri::{self, Piece};

/// What the expansion needs to know about a resource or a template.
pub(crate) struct Resource {
    pub(crate) function: Function,
    /// The URI or the URI template.
    pub(crate) uri: LitStr,
    /// The pieces of the template; empty for a resource.
    pub(crate) pieces: Vec<Piece>,
    pub(crate) options: Options,
}

/// What the author wrote in the attribute.
#[derive(Default)]
pub(crate) struct Options {
    uri: Option<LitStr>,
    name: Option<LitStr>,
    description: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) mime_type: Option<LitStr>,
    pub(crate) size: Option<LitInt>,
    /// `User` or `Assistant`.
    pub(crate) audience: Option<&'static str>,
    pub(crate) priority: Option<Expr>,
}

impl Resource {
    /// Takes the resource from `function` if it is one, and leaves a plain function behind.
    pub(crate) fn take(function: &mut ItemFn) -> syn::Result<Option<Self>> {
        let Some(attribute) = RESOURCE.take(function) else { return Ok(None) };
        let (options, uri) = Options::parse(&RESOURCE, &attribute)?;
        uri::check(&uri)?;
        let function = named(&RESOURCE, function, &options)?;
        if let Some(Arg { ident, .. }) = function.parameters.args.first() {
            let message = "a resource takes only `ctx: &Context`; for resources with variables in their URI there is \
                           #[resource_template(uri_template = \"...\")]";
            return Err(syn::Error::new(ident.span(), message));
        }
        Ok(Some(Self { function, uri, pieces: Vec::new(), options }))
    }

    /// As [`Resource::take`], for templates.
    pub(crate) fn take_template(function: &mut ItemFn) -> syn::Result<Option<Self>> {
        let Some(attribute) = TEMPLATE.take(function) else { return Ok(None) };
        let (options, uri) = Options::parse(&TEMPLATE, &attribute)?;
        let pieces = uri::pieces(&uri)?;
        let function = named(&TEMPLATE, function, &options)?;
        let args = &function.parameters.args;
        let is_variable =
            |name: &str| pieces.iter().any(|piece| matches!(piece, Piece::Variable(known) if known == name));
        if let Some(arg) = args.iter().find(|arg| !is_variable(&arg.name())) {
            let message = format!("the template has no variable `{{{}}}`", arg.name());
            return Err(syn::Error::new(arg.ident.span(), message));
        }
        for piece in &pieces {
            if let Piece::Variable(name) = piece
                && !args.iter().any(|arg| arg.name() == *name)
            {
                let message = format!("the function has no parameter `{name}` for the template's variable");
                return Err(syn::Error::new(uri.span(), message));
            }
        }
        Ok(Some(Self { function, uri, pieces, options }))
    }
}

fn named(kind: &Kind, function: &mut ItemFn, options: &Options) -> syn::Result<Function> {
    Function::take(kind, function, options.name.as_ref(), options.description.as_ref())
}

impl Options {
    /// The options, including the required one.
    fn parse(kind: &Kind, attribute: &Attribute) -> syn::Result<(Self, LitStr)> {
        let mut options = Self::default();
        if !matches!(attribute.meta, Meta::Path(_)) {
            attribute.parse_nested_meta(|meta| options.option(kind, &meta))?;
        }
        let (uri, example) = uri_option(kind);
        let missing =
            || syn::Error::new_spanned(attribute, format!("say which: #[{}({uri} = {example})]", kind.attribute));
        let uri = options.uri.take().ok_or_else(missing)?;
        Ok((options, uri))
    }

    fn option(&mut self, kind: &Kind, meta: &ParseNestedMeta) -> syn::Result<()> {
        let (uri, _) = uri_option(kind);
        let template = kind.attribute == TEMPLATE.attribute;
        match meta.path.get_ident().map(ToString::to_string).as_deref() {
            Some(option) if option == uri => self.uri = Some(meta.value()?.parse()?),
            Some("name") => self.name = Some(meta.value()?.parse()?),
            Some("title") => self.title = Some(meta.value()?.parse()?),
            Some("description") => self.description = Some(meta.value()?.parse()?),
            Some("mime_type") => self.mime_type = Some(meta.value()?.parse()?),
            Some("size") if !template => self.size = Some(meta.value()?.parse()?),
            Some("audience") => self.audience = Some(role(&meta.value()?.parse()?)?),
            Some("priority") => self.priority = Some(meta.value()?.parse()?),
            _ => {
                let size = if template { "" } else { "size, " };
                let known = format!("{uri}, name, title, description, mime_type, {size}audience and priority");
                return Err(meta.error(format_args!("unknown option; known are {known}")));
            }
        }
        Ok(())
    }
}

/// The option that sets the URI, and an example of it.
fn uri_option(kind: &Kind) -> (&'static str, &'static str) {
    if kind.attribute == TEMPLATE.attribute {
        ("uri_template", "\"weather://{city}/today\"")
    } else {
        ("uri", "\"weather://today\"")
    }
}

fn role(text: &LitStr) -> syn::Result<&'static str> {
    match text.value().as_str() {
        "user" => Ok("User"),
        "assistant" => Ok("Assistant"),
        _ => Err(syn::Error::new(text.span(), "audience is \"user\" or \"assistant\"; leave it out for both")),
    }
}
