//! The generated code of a tool.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::LitStr;
use syn::spanned::Spanned;

use super::shared::{optional, unwrap};
use crate::args::{Arg, Fallback};
use crate::function::Function;
use crate::tool::Tool;
use crate::tool_attr::Execution;

/// One tool's entry, with its argument type and its two functions defined inside it.
pub(super) fn entry(tool: &Tool) -> TokenStream {
    let Function { name, conditions, .. } = &tool.function;
    let arguments = arguments(&tool.function.parameters.args);
    let describe = describe(tool);
    let call = call(tool);
    quote! {
        #(#conditions)*
        {
            use ::portcullis_guest::__private;
            #[allow(unused_imports, reason = "which of them apply depends on the tool's types")]
            use __private::{AnyError as _, AsIs as _, Structured as _, TypedError as _};
            #arguments
            #describe
            #call
            __private::ToolEntry { name: #name, describe: __describe, call: __call }
        }
    }
}

/// The struct from which both the parser and the input schema are derived.
fn arguments(args: &[Arg]) -> TokenStream {
    let defaults = args.iter().enumerate().filter_map(|(index, arg)| match &arg.options.default {
        Some(Fallback::Value(value)) => {
            let (function, ty) = (format_ident!("__default_{index}"), &arg.ty);
            Some(quote_spanned!(value.span()=> fn #function() -> #ty { #value }))
        }
        _ => None,
    });
    let fields = args.iter().enumerate().map(|(index, arg)| {
        let Arg { ident, ty, passed_on, .. } = arg;
        let description = arg.description.as_ref().map(|text| quote!(#[schemars(description = #text)]));
        let default = match &arg.options.default {
            Some(Fallback::Value(_)) => {
                let function = format!("__default_{index}");
                Some(quote!(#[serde(default = #function)]))
            }
            Some(Fallback::OfType) => Some(quote!(#[serde(default)])),
            None => None,
        };
        quote!(#description #default #(#passed_on)* #ident: #ty)
    });
    quote! {
        #(#defaults)*
        #[allow(non_camel_case_types, reason = "must not hide a type of the author's")]
        #[derive(__private::serde::Deserialize, __private::schemars::JsonSchema)]
        #[serde(crate = "::portcullis_guest::__private::serde", deny_unknown_fields)]
        #[schemars(crate = "::portcullis_guest::__private::schemars")]
        struct __Arguments { #(#fields),* }
    }
}

fn describe(tool: &Tool) -> TokenStream {
    let Tool { function: Function { name, description, output, .. }, options } = tool;
    let ty = &output.ty;
    let title = optional(options.title.as_ref().map(LitStr::value));
    let [read_only, destructive, idempotent, open_world] =
        [options.read_only, options.destructive, options.idempotent, options.open_world].map(optional);
    let execution = match options.execution {
        Execution::Inline => quote!(Inline),
        Execution::MayRunLong => quote!(MayRunLong),
        Execution::TaskOnly => quote!(TaskOnly),
    };
    // The result's type decides whether it has a schema; see `convert` in portcullis-guest.
    let output_schema = quote_spanned!(ty.span()=> {
        (&__private::Probe::<#ty>::new()).result_kind().schema::<#ty>()
    });
    quote! {
        fn __describe() -> ::portcullis_guest::Tool {
            ::portcullis_guest::Tool {
                name: #name.into(),
                title: #title,
                description: #description.into(),
                input_schema: __private::input_schema::<__Arguments>(),
                output_schema: #output_schema,
                annotations: ::portcullis_guest::ToolAnnotations {
                    read_only: #read_only,
                    destructive: #destructive,
                    idempotent: #idempotent,
                    open_world: #open_world,
                },
                execution: ::portcullis_guest::Execution::#execution,
                icons: ::std::vec::Vec::new(),
            }
        }
    }
}

fn call(tool: &Tool) -> TokenStream {
    let Function { ident: function, parameters, output, .. } = &tool.function;
    let ty = &output.ty;
    let context = parameters.wants_context.then(|| quote!(__ctx,));
    let fields: Vec<_> = parameters.args.iter().map(|arg| &arg.ident).collect();
    let values: Vec<_> = (0..fields.len()).map(|index| format_ident!("__argument_{index}")).collect();
    let unwrap = unwrap(output, &quote!(error_kind));
    let convert = quote_spanned! {ty.span()=>
        (&__private::Probe::<#ty>::new()).result_kind().convert::<#ty>(__output)
    };
    quote! {
        fn __call(
            __ctx: &::portcullis_guest::Context,
            __arguments: &str,
        ) -> ::core::result::Result<::portcullis_guest::ToolResult, ::portcullis_guest::ToolError> {
            let __Arguments { #(#fields: #values),* } = __private::parse::<__Arguments>(__arguments)?;
            let __output = #function(#context #(#values),*);
            #unwrap
            #convert
        }
    }
}
