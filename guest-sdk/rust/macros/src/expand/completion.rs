//! The generated code of suggestions, for prompts and resource templates alike.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::Expr;
use syn::spanned::Spanned;

use crate::args::Arg;

/// The functions that suggest values, and the list of them by argument name.
pub(super) fn completers(args: &[Arg]) -> (TokenStream, TokenStream) {
    let (mut functions, mut list) = (TokenStream::new(), TokenStream::new());
    for (index, arg) in args.iter().enumerate() {
        let Some(complete) = &arg.options.complete else { continue };
        let (function, name) = (format_ident!("__complete_{index}"), arg.name());
        // A list is filtered by the typed text; anything else is a function that filters by itself.
        let suggestions = match &**complete {
            Expr::Array(values) => quote_spanned!(values.span()=> __typed.matching(#values)),
            function => quote_spanned!(function.span()=> (#function)(__typed)),
        };
        let convert = quote_spanned!(complete.span()=> __private::IntoCompletion::into_completion);
        functions.extend(quote! {
            fn #function(
                __typed: &__private::Typed<'_>,
            ) -> ::core::result::Result<::portcullis_guest::Completion, ::portcullis_guest::ToolError> {
                #convert(#suggestions)
            }
        });
        list.extend(quote!((#name, #function),));
    }
    (functions, quote!(&[#list]))
}
