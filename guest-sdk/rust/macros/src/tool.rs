//! One function marked `#[tool]`.

use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, GenericArgument, Ident, ItemFn, LitStr, PathArguments, ReturnType, Type};

use crate::args::Parameters;
use crate::tool_attr::Options;
use crate::{docs, names};

/// Everything the expansion needs to know of a tool.
pub(crate) struct Tool {
    pub(crate) function: Ident,
    pub(crate) name: LitStr,
    pub(crate) description: String,
    pub(crate) options: Options,
    pub(crate) parameters: Parameters,
    pub(crate) output: Output,
    /// `#[cfg(...)]`, repeated on the tool's entry.
    pub(crate) conditions: Vec<Attribute>,
}

/// What the function returns.
pub(crate) struct Output {
    /// The type of a success.
    pub(crate) ty: Type,
    /// Whether the function returns a `Result`.
    pub(crate) fallible: bool,
}

impl Tool {
    /// Takes the tool out of `function` when it is one, and leaves a plain function behind.
    pub(crate) fn take(function: &mut ItemFn) -> syn::Result<Option<Self>> {
        let Some(position) = function.attrs.iter().position(|attribute| attribute.path().is_ident("tool")) else {
            return Ok(None);
        };
        let attribute = function.attrs.remove(position);
        let options = Options::parse(&attribute)?;
        check_signature(function)?;

        let name = match &options.name {
            Some(name) => name.clone(),
            None => {
                let name = LitStr::new(&function.sig.ident.unraw().to_string(), function.sig.ident.span());
                names::check(&name, "tool")?;
                name
            }
        };
        let described = options.description.as_ref().map(LitStr::value).or_else(|| docs::read(&function.attrs));
        let Some(description) = described.filter(|text| !text.trim().is_empty()) else {
            let message = format!(
                "the tool `{}` has no doc comment; models choose tools by it, so say what it does",
                name.value()
            );
            return Err(syn::Error::new(function.sig.ident.span(), message));
        };
        Ok(Some(Self {
            function: function.sig.ident.clone(),
            name,
            description,
            parameters: Parameters::take(function.sig.inputs.iter_mut())?,
            output: output(&function.sig.output),
            conditions: function.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg")).cloned().collect(),
            options,
        }))
    }
}

fn check_signature(function: &ItemFn) -> syn::Result<()> {
    let signature = &function.sig;
    if let Some(keyword) = &signature.asyncness {
        let message =
            "a tool is a plain `fn`; waiting for output or another tool blocks only this call, never the host";
        return Err(syn::Error::new(keyword.span(), message));
    }
    if !signature.generics.params.is_empty() {
        let message = "a tool cannot be generic: its schema is made once, from concrete types";
        return Err(syn::Error::new_spanned(&signature.generics, message));
    }
    Ok(())
}

/// A `Result` is recognised by its name, so that aliases such as `anyhow::Result<T>` count as well.
fn output(declared: &ReturnType) -> Output {
    let ReturnType::Type(_, ty) = declared else {
        return Output { ty: syn::parse_quote!(()), fallible: false };
    };
    if let Type::Path(path) = &**ty
        && let Some(last) = path.path.segments.last()
        && last.ident == "Result"
    {
        let success = match &last.arguments {
            PathArguments::AngleBracketed(generics) => generics.args.iter().find_map(|generic| match generic {
                GenericArgument::Type(ty) => Some(ty.clone()),
                _ => None,
            }),
            _ => None,
        };
        // `fmt::Result` and its like succeed with nothing.
        return Output { ty: success.unwrap_or_else(|| syn::parse_quote_spanned!(ty.span()=> ())), fallible: true };
    }
    Output { ty: (**ty).clone(), fallible: false }
}
