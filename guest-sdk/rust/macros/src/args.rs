//! Parameters of a tool, a prompt or a resource template.

use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Expr, FnArg, Ident, LitStr, Pat, PatType, Token, Type, TypeReference};

use crate::docs;
use crate::kind::Kind;

/// One property of a tool's arguments, one argument of a prompt or one variable of a URI.
pub(crate) struct Arg {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    pub(crate) description: Option<String>,
    pub(crate) options: Options,
    /// `#[schemars(...)]` and `#[serde(...)]`, passed on as they are.
    pub(crate) passed_on: Vec<Attribute>,
}

/// What the author wrote in `#[arg(...)]`.
#[derive(Default)]
pub(crate) struct Options {
    /// For tools.
    pub(crate) default: Option<Fallback>,
    /// For prompts.
    pub(crate) title: Option<LitStr>,
    /// For prompts and templates; tools have `#[serde(rename)]`.
    rename: Option<LitStr>,
    /// For prompts and templates: a list of values, or a function that suggests some; boxed because expressions are large.
    pub(crate) complete: Option<Box<Expr>>,
}

/// The value of an argument that the caller left out.
pub(crate) enum Fallback {
    /// `#[arg(default)]`
    OfType,
    /// `#[arg(default = ...)]`; boxed because expressions are large.
    Value(Box<Expr>),
}

impl Arg {
    /// The name that callers use.
    pub(crate) fn name(&self) -> String {
        self.options.rename.as_ref().map_or_else(|| self.ident.unraw().to_string(), LitStr::value)
    }
}

/// The parameters of a function, in order.
pub(crate) struct Parameters {
    pub(crate) wants_context: bool,
    pub(crate) args: Vec<Arg>,
}

impl Parameters {
    /// Reads the parameters, and removes from the function the attributes that the compiler would not accept there.
    pub(crate) fn take<'a>(kind: &Kind, inputs: impl Iterator<Item = &'a mut FnArg>) -> syn::Result<Self> {
        let mut parameters = Self { wants_context: false, args: Vec::new() };
        for (position, input) in inputs.enumerate() {
            let input = match input {
                FnArg::Receiver(receiver) => {
                    let message = format!(
                        "a {} is a plain function without `self`; every call runs in an instance of its own",
                        kind.noun
                    );
                    return Err(syn::Error::new_spanned(receiver, message));
                }
                FnArg::Typed(input) => input,
            };
            if is_context(&input.ty) {
                if position != 0 {
                    return Err(syn::Error::new_spanned(input, "the context comes first: `ctx: &Context`"));
                }
                parameters.wants_context = true;
            } else {
                parameters.args.push(arg(kind, input)?);
            }
        }
        Ok(parameters)
    }
}

fn is_context(ty: &Type) -> bool {
    let Type::Reference(TypeReference { elem, mutability: None, .. }) = ty else { return false };
    matches!(&**elem, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Context"))
}

fn arg(kind: &Kind, input: &mut PatType) -> syn::Result<Arg> {
    let Kind { noun, parameter, .. } = kind;
    let ident = match &*input.pat {
        Pat::Ident(pat) if pat.subpat.is_none() && pat.by_ref.is_none() => pat.ident.clone(),
        pattern => {
            let message =
                format!("a {noun}'s parameter needs a name, which becomes {parameter}; take it apart in the body");
            return Err(syn::Error::new_spanned(pattern, message));
        }
    };
    match &*input.ty {
        Type::Reference(reference) => {
            let message = "arguments are owned: take `String` instead of `&str`, `Vec<T>` instead of `&[T]`";
            return Err(syn::Error::new_spanned(reference, message));
        }
        Type::ImplTrait(generic) => {
            let message = format!("a {noun}'s parameter needs a concrete type: what callers are told is made from it");
            return Err(syn::Error::new_spanned(generic, message));
        }
        _ => {}
    }
    let description = docs::take(&mut input.attrs);
    let tool = kind.attribute == "tool";
    let mut options = Options::default();
    let mut passed_on = Vec::new();
    let mut kept = Vec::new();
    for attribute in std::mem::take(&mut input.attrs) {
        if attribute.path().is_ident("arg") {
            attribute.parse_nested_meta(|meta| options.option(kind, &meta))?;
        } else if tool && (attribute.path().is_ident("schemars") || attribute.path().is_ident("serde")) {
            passed_on.push(attribute);
        } else {
            kept.push(attribute);
        }
    }
    input.attrs = kept;
    Ok(Arg { ident, ty: (*input.ty).clone(), description, options, passed_on })
}

impl Options {
    fn option(&mut self, kind: &Kind, meta: &ParseNestedMeta) -> syn::Result<()> {
        let known = match kind.attribute {
            "tool" => "default and default = ...",
            "prompt" => "title = \"...\", rename = \"...\" and complete = ...",
            _ => "rename = \"...\" and complete = ...",
        };
        match (meta.path.get_ident().map(ToString::to_string).as_deref(), kind.attribute) {
            (Some("default"), "tool") if meta.input.peek(Token![=]) => {
                self.default = Some(Fallback::Value(Box::new(meta.value()?.parse()?)));
            }
            (Some("default"), "tool") => self.default = Some(Fallback::OfType),
            (Some("title"), "prompt") => self.title = Some(meta.value()?.parse()?),
            (Some("rename"), "prompt" | "resource_template") => self.rename = Some(meta.value()?.parse()?),
            (Some("complete"), "prompt" | "resource_template") => {
                self.complete = Some(Box::new(meta.value()?.parse()?));
            }
            _ => return Err(meta.error(format_args!("unknown option; known are {known}"))),
        }
        Ok(())
    }
}
