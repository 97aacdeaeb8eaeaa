//! Generated code that all entries share.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;

use crate::function::Output;

/// Takes the success out of `__output`, or returns the error, converted by its type. `kind` picks the conversion.
pub(super) fn unwrap(output: &Output, kind: &TokenStream) -> Option<TokenStream> {
    let ty = &output.ty;
    output.fallible.then(|| {
        quote_spanned! {ty.span()=>
            let __output = match __output {
                ::core::result::Result::Ok(output) => output,
                ::core::result::Result::Err(error) => {
                    return ::core::result::Result::Err((&__private::Probe::of(&error)).#kind().convert(error));
                }
            };
        }
    })
}

pub(super) fn optional<T: ToTokens>(value: Option<T>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value.into())),
        None => quote!(::core::option::Option::None),
    }
}
