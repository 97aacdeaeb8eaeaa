//! The common part of all marked functions: tools, prompts, resources.

use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, GenericArgument, Ident, ItemFn, LitStr, PathArguments, ReturnType, Type};

use crate::args::Parameters;
use crate::docs;
use crate::kind::Kind;

/// What the expansion needs to know about a function.
pub(crate) struct Function {
    pub(crate) ident: Ident,
    /// The name that clients see.
    pub(crate) name: LitStr,
    pub(crate) description: String,
    pub(crate) parameters: Parameters,
    pub(crate) output: Output,
    /// `#[cfg(...)]`, repeated on the function's entry.
    pub(crate) conditions: Vec<Attribute>,
}

/// What the function returns.
pub(crate) struct Output {
    /// The type of the success value.
    pub(crate) ty: Type,
    /// Whether the function returns a `Result`.
    pub(crate) fallible: bool,
}

impl Function {
    /// Reads a function whose marker attribute was removed, and leaves a plain function behind.
    pub(crate) fn take(
        kind: &Kind,
        function: &mut ItemFn,
        name: Option<&LitStr>,
        description: Option<&LitStr>,
    ) -> syn::Result<Self> {
        check_signature(kind, function)?;
        let ident = &function.sig.ident;
        let name = name.cloned().unwrap_or_else(|| LitStr::new(&ident.unraw().to_string(), ident.span()));
        let described = description.map(LitStr::value).or_else(|| docs::read(&function.attrs));
        let Some(description) = described.filter(|text| !text.trim().is_empty()) else {
            let Kind { noun, described, .. } = kind;
            let message = format!("the {noun} `{}` has no doc comment; {described}", name.value());
            return Err(syn::Error::new(ident.span(), message));
        };
        Ok(Self {
            ident: ident.clone(),
            name,
            description,
            parameters: Parameters::take(kind, function.sig.inputs.iter_mut())?,
            output: output(&function.sig.output),
            conditions: function.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg")).cloned().collect(),
        })
    }
}

fn check_signature(kind: &Kind, function: &ItemFn) -> syn::Result<()> {
    let (signature, noun) = (&function.sig, kind.noun);
    if let Some(keyword) = &signature.asyncness {
        let message = format!(
            "a {noun} is a plain `fn`; waiting for output, an answer or another tool blocks only this call, never the host"
        );
        return Err(syn::Error::new(keyword.span(), message));
    }
    if !signature.generics.params.is_empty() {
        let message = format!("a {noun} cannot be generic: its description is made once, from concrete types");
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
        // `fmt::Result` and similar aliases have `()` as their success value.
        return Output { ty: success.unwrap_or_else(|| syn::parse_quote_spanned!(ty.span()=> ())), fallible: true };
    }
    Output { ty: (**ty).clone(), fallible: false }
}
