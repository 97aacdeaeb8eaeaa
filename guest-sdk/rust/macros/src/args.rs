//! Parameters of a tool.

use syn::{Attribute, Expr, FnArg, Ident, Pat, PatType, Token, Type, TypeReference};

use crate::docs;

/// One property of the tool's arguments.
pub(crate) struct Arg {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    pub(crate) description: Option<String>,
    pub(crate) default: Option<Default>,
    /// `#[schemars(...)]` and `#[serde(...)]`, passed on as they are.
    pub(crate) passed_on: Vec<Attribute>,
}

/// What stands in for an argument that the caller left out.
pub(crate) enum Default {
    /// `#[arg(default)]`
    OfType,
    /// `#[arg(default = ...)]`; boxed because expressions are large.
    Value(Box<Expr>),
}

/// The parameters of a tool, in order.
pub(crate) struct Parameters {
    pub(crate) wants_context: bool,
    pub(crate) args: Vec<Arg>,
}

impl Parameters {
    /// Reads the parameters and removes from the function what the compiler would not accept there.
    pub(crate) fn take<'a>(inputs: impl Iterator<Item = &'a mut FnArg>) -> syn::Result<Self> {
        let mut parameters = Self { wants_context: false, args: Vec::new() };
        for (position, input) in inputs.enumerate() {
            let input = match input {
                FnArg::Receiver(receiver) => {
                    let message =
                        "a tool is a plain function without `self`; every call runs in an instance of its own";
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
                parameters.args.push(arg(input)?);
            }
        }
        Ok(parameters)
    }
}

fn is_context(ty: &Type) -> bool {
    let Type::Reference(TypeReference { elem, mutability: None, .. }) = ty else { return false };
    matches!(&**elem, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Context"))
}

fn arg(input: &mut PatType) -> syn::Result<Arg> {
    let ident = match &*input.pat {
        Pat::Ident(pat) if pat.subpat.is_none() && pat.by_ref.is_none() => pat.ident.clone(),
        pattern => {
            let message =
                "a tool's parameter needs a name, which becomes a property of its arguments; take it apart in the body";
            return Err(syn::Error::new_spanned(pattern, message));
        }
    };
    match &*input.ty {
        Type::Reference(reference) => {
            let message = "arguments are owned: take `String` instead of `&str`, `Vec<T>` instead of `&[T]`";
            return Err(syn::Error::new_spanned(reference, message));
        }
        Type::ImplTrait(generic) => {
            let message = "a tool's parameter needs a concrete type, its JSON Schema is made from it";
            return Err(syn::Error::new_spanned(generic, message));
        }
        _ => {}
    }
    let description = docs::take(&mut input.attrs);
    let mut default = None;
    let mut passed_on = Vec::new();
    let mut kept = Vec::new();
    for attribute in std::mem::take(&mut input.attrs) {
        if attribute.path().is_ident("arg") {
            default = default_of(&attribute)?;
        } else if attribute.path().is_ident("schemars") || attribute.path().is_ident("serde") {
            passed_on.push(attribute);
        } else {
            kept.push(attribute);
        }
    }
    input.attrs = kept;
    Ok(Arg { ident, ty: (*input.ty).clone(), description, default, passed_on })
}

fn default_of(attribute: &Attribute) -> syn::Result<Option<Default>> {
    let mut default = None;
    attribute.parse_nested_meta(|meta| {
        if !meta.path.is_ident("default") {
            return Err(meta.error("unknown option; known are default and default = ..."));
        }
        default = Some(if meta.input.peek(Token![=]) {
            Default::Value(Box::new(meta.value()?.parse()?))
        } else {
            Default::OfType
        });
        Ok(())
    })?;
    Ok(default)
}
