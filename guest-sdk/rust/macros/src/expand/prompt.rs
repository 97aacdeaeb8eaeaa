//! The generated code of a prompt.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::LitStr;
use syn::spanned::Spanned;

use super::completion::completers;
use super::shared::{optional, unwrap};
use crate::args::Arg;
use crate::function::Function;
use crate::prompt::Prompt;

/// One prompt's entry, with its functions defined inside it.
pub(super) fn entry(prompt: &Prompt) -> TokenStream {
    let Function { ident, name, description, parameters, output, conditions } = &prompt.function;
    let title = optional(prompt.title.as_ref().map(LitStr::value));
    let context = parameters.wants_context.then(|| quote!(__ctx,));
    let arguments = parameters.args.iter().map(argument);
    let values = parameters.args.iter().map(|arg| {
        let (name, ty) = (arg.name(), &arg.ty);
        quote_spanned!(ty.span()=> <#ty as __private::PromptText>::find(__arguments, #name)?)
    });
    let unwrap = unwrap(output, &quote!(error_kind));
    let convert = quote_spanned!(output.ty.span()=> ::portcullis_guest::IntoPrompt::into_prompt(__output));
    let (functions, completers) = completers(&parameters.args);
    quote! {
        #(#conditions)*
        {
            use ::portcullis_guest::__private;
            #[allow(unused_imports, reason = "which of them apply depends on the prompt's types")]
            use __private::{AnyError as _, TypedError as _};
            fn __describe() -> ::portcullis_guest::Prompt {
                ::portcullis_guest::Prompt {
                    name: #name.into(),
                    title: #title,
                    description: ::core::option::Option::Some(#description.into()),
                    arguments: ::std::vec![#(#arguments),*],
                    icons: ::std::vec::Vec::new(),
                }
            }
            #[allow(unused_variables, reason = "which of them are used depends on the prompt's parameters")]
            fn __get(
                __ctx: &::portcullis_guest::Context,
                __arguments: &[(::std::string::String, ::std::string::String)],
            ) -> ::core::result::Result<::portcullis_guest::PromptResult, ::portcullis_guest::ToolError> {
                let __output = #ident(#context #(#values),*);
                #unwrap
                ::core::result::Result::Ok(#convert)
            }
            #functions
            __private::PromptEntry { name: #name, describe: __describe, get: __get, completers: #completers }
        }
    }
}

fn argument(arg: &Arg) -> TokenStream {
    let (name, ty) = (arg.name(), &arg.ty);
    let title = optional(arg.options.title.as_ref().map(LitStr::value));
    let description = optional(arg.description.as_ref());
    let required = quote_spanned!(ty.span()=> <#ty as __private::PromptText>::REQUIRED);
    quote! {
        ::portcullis_guest::PromptArgument {
            name: #name.into(),
            title: #title,
            description: #description,
            required: #required,
        }
    }
}
