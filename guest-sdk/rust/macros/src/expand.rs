//! The generated code.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Item, LitStr, Visibility, parse_quote};

use crate::args::{Arg, Default};
use crate::tool::Tool;
use crate::tool_attr::Execution;

/// The constant `PLUGIN`: what tests call natively and the exports call in a component.
pub(crate) fn plugin(module: &Visibility, manifest: &str, tools: &[Tool]) -> Item {
    // As visible as the module; more would be unreachable, less would hide it from the module's parent.
    let visibility: Visibility = match module {
        Visibility::Public(_) => parse_quote!(pub),
        _ => parse_quote!(pub(crate)),
    };
    let entries = tools.iter().map(entry);
    parse_quote! {
        /// The plugin made of this module's tools.
        #[allow(dead_code, clippy::all, clippy::pedantic, reason = "generated; unused natively outside tests")]
        #visibility const PLUGIN: ::portcullis_guest::Plugin = ::portcullis_guest::Plugin::new(#manifest, &[#(#entries),*]);
    }
}

/// What makes a component of the crate: the exported functions and the stamps that the host reads before it compiles.
///
/// Exporting a symbol and naming a section are unsafe attributes in edition 2024, because a wrong name could shadow
/// something else. These names are ours alone, hence the one `allow` of the generated code.
pub(crate) fn exports(manifest: &str) -> Item {
    let bytes = Literal::byte_string(manifest.as_bytes());
    let length = manifest.len();
    parse_quote! {
        #[cfg(target_arch = "wasm32")]
        #[allow(unsafe_code, clippy::all, reason = "exported symbols and custom sections need unsafe attributes")]
        const _: () = {
            #[used]
            #[unsafe(link_section = "portcullis:api")]
            static API: [u8; ::portcullis_guest::__private::API.len()] = ::portcullis_guest::__private::API;
            #[used]
            #[unsafe(link_section = "portcullis:manifest")]
            static MANIFEST: [u8; #length] = *#bytes;

            struct Exports;
            impl ::portcullis_guest::__private::Exported for Exports {
                const PLUGIN: ::portcullis_guest::Plugin = PLUGIN;
            }
            type Guest = ::portcullis_guest::__private::Guest<Exports>;
            ::portcullis_guest::__private::export!(Guest with_types_in ::portcullis_guest::__private::bindings);
        };
    }
}

/// One tool's entry, with its argument type and its two functions local to it.
fn entry(tool: &Tool) -> TokenStream {
    let Tool { name, conditions, .. } = tool;
    let arguments = arguments(&tool.parameters.args);
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
            __private::ToolEntry { name: #name, describe, call }
        }
    }
}

/// The struct from which both the parser and the input schema are derived.
fn arguments(args: &[Arg]) -> TokenStream {
    let defaults = args.iter().enumerate().filter_map(|(index, arg)| match &arg.default {
        Some(Default::Value(value)) => {
            let (function, ty) = (format_ident!("default_{index}"), &arg.ty);
            Some(quote_spanned!(value.span()=> fn #function() -> #ty { #value }))
        }
        _ => None,
    });
    let fields = args.iter().enumerate().map(|(index, arg)| {
        let Arg { ident, ty, passed_on, .. } = arg;
        let description = arg.description.as_ref().map(|text| quote!(#[schemars(description = #text)]));
        let default = match &arg.default {
            Some(Default::Value(_)) => {
                let function = format!("default_{index}");
                Some(quote!(#[serde(default = #function)]))
            }
            Some(Default::OfType) => Some(quote!(#[serde(default)])),
            None => None,
        };
        quote!(#description #default #(#passed_on)* #ident: #ty)
    });
    quote! {
        #(#defaults)*
        #[derive(__private::serde::Deserialize, __private::schemars::JsonSchema)]
        #[serde(crate = "::portcullis_guest::__private::serde", deny_unknown_fields)]
        #[schemars(crate = "::portcullis_guest::__private::schemars")]
        struct Arguments { #(#fields),* }
    }
}

fn describe(tool: &Tool) -> TokenStream {
    let Tool { name, description, options, .. } = tool;
    let ty = &tool.output.ty;
    let title = optional(options.title.as_ref().map(LitStr::value));
    let [read_only, destructive, idempotent, open_world] =
        [options.read_only, options.destructive, options.idempotent, options.open_world].map(optional);
    let execution = match options.execution {
        Execution::Inline => quote!(Inline),
        Execution::MayRunLong => quote!(MayRunLong),
        Execution::TaskOnly => quote!(TaskOnly),
    };
    // The kind decides by the type whether the result has a schema; see `convert` in portcullis-guest.
    let output_schema = quote_spanned!(ty.span()=> {
        (&__private::Probe::<#ty>::new()).result_kind().schema::<#ty>()
    });
    quote! {
        fn describe() -> ::portcullis_guest::Tool {
            ::portcullis_guest::Tool {
                name: #name.into(),
                title: #title,
                description: #description.into(),
                input_schema: __private::input_schema::<Arguments>(),
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
    let function = &tool.function;
    let ty = &tool.output.ty;
    let context = tool.parameters.wants_context.then(|| quote!(__ctx,));
    let fields: Vec<_> = tool.parameters.args.iter().map(|arg| &arg.ident).collect();
    let values: Vec<_> = (0..fields.len()).map(|index| format_ident!("__argument_{index}")).collect();
    let unwrap = tool.output.fallible.then(|| {
        quote_spanned! {ty.span()=>
            let __output = match __output {
                ::core::result::Result::Ok(output) => output,
                ::core::result::Result::Err(error) => {
                    return ::core::result::Result::Err((&__private::Probe::of(&error)).error_kind().convert(error));
                }
            };
        }
    });
    let convert = quote_spanned! {ty.span()=>
        (&__private::Probe::<#ty>::new()).result_kind().convert::<#ty>(__output)
    };
    quote! {
        fn call(
            __ctx: &::portcullis_guest::Context,
            __arguments: &str,
        ) -> ::core::result::Result<::portcullis_guest::ToolResult, ::portcullis_guest::ToolError> {
            let Arguments { #(#fields: #values),* } = __private::parse::<Arguments>(__arguments)?;
            let __output = #function(#context #(#values),*);
            #unwrap
            #convert
        }
    }
}

fn optional<T: quote::ToTokens>(value: Option<T>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value.into())),
        None => quote!(::core::option::Option::None),
    }
}
