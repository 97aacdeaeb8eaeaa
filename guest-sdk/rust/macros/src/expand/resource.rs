//! The generated code of a resource, or of a resource template.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::LitStr;
use syn::spanned::Spanned;

use super::completion::completers;
use super::shared::{optional, unwrap};
use crate::function::Function;
use crate::resource::Resource;
use crate::uri::Piece;

/// One resource's entry, with its functions defined inside it.
pub(super) fn entry(resource: &Resource) -> TokenStream {
    let Resource { function: Function { conditions, .. }, uri, options, .. } = resource;
    let described = described(resource);
    let size = match &options.size {
        Some(size) => quote!(::core::option::Option::Some(#size)),
        None => quote!(::core::option::Option::None),
    };
    let read = read(resource, &quote!());
    quote! {
        #(#conditions)*
        {
            use ::portcullis_guest::__private;
            #[allow(unused_imports, reason = "which of them apply depends on the resource's types")]
            use __private::{AnyReadError as _, TypedReadError as _};
            fn __describe() -> ::portcullis_guest::ResourceInfo {
                ::portcullis_guest::ResourceInfo { uri: #uri.into(), size: #size, #described }
            }
            #[allow(unused_variables, reason = "which of them are used depends on the resource's parameters")]
            fn __read(__ctx: &::portcullis_guest::Context, __uri: &str) -> #read
            __private::ResourceEntry { uri: #uri, describe: __describe, read: __read }
        }
    }
}

/// One template's entry, built the same way.
pub(super) fn template_entry(template: &Resource) -> TokenStream {
    let Resource { function: Function { conditions, parameters, .. }, uri, pieces, .. } = template;
    let described = described(template);
    let matched = pieces.iter().map(|piece| match piece {
        Piece::Literal(literal) => quote!(__private::Piece::Literal(#literal)),
        Piece::Variable(_) => quote!(__private::Piece::Variable),
    });
    // The values come in the order of the template, which may differ from the order of the parameters.
    let variables = pieces.iter().filter_map(|piece| match piece {
        Piece::Literal(_) => None,
        Piece::Variable(name) => parameters.args.iter().position(|arg| arg.name() == *name),
    });
    let values = variables.map(|index| {
        let (value, ty) = (format_ident!("__argument_{index}"), &parameters.args[index].ty);
        quote_spanned!(ty.span()=> let #value = __private::variable::<#ty>(__variables.next())?;)
    });
    let read = read(template, &quote!(let mut __variables = __variables.into_iter(); #(#values)*));
    let (functions, completers) = completers(&parameters.args);
    quote! {
        #(#conditions)*
        {
            use ::portcullis_guest::__private;
            #[allow(unused_imports, reason = "which of them apply depends on the template's types")]
            use __private::{AnyReadError as _, TypedReadError as _};
            fn __describe() -> ::portcullis_guest::ResourceTemplate {
                ::portcullis_guest::ResourceTemplate { uri_template: #uri.into(), #described }
            }
            fn __read(
                __ctx: &::portcullis_guest::Context,
                __uri: &str,
                __variables: ::std::vec::Vec<::std::string::String>,
            ) -> #read
            #functions
            __private::TemplateEntry {
                uri_template: #uri,
                pieces: &[#(#matched),*],
                describe: __describe,
                read: __read,
                completers: #completers,
            }
        }
    }
}

/// The fields that the descriptions of resources and templates share.
fn described(resource: &Resource) -> TokenStream {
    let Resource { function: Function { name, description, .. }, options, .. } = resource;
    let title = optional(options.title.as_ref().map(LitStr::value));
    let mime_type = optional(options.mime_type.as_ref().map(LitStr::value));
    let audience = options.audience.map(|role| format_ident!("{role}"));
    let annotations = if audience.is_none() && options.priority.is_none() {
        quote!(::core::option::Option::None)
    } else {
        let audience = audience.iter();
        let priority = match &options.priority {
            Some(priority) => quote!(::core::option::Option::Some(#priority)),
            None => quote!(::core::option::Option::None),
        };
        quote! {
            ::core::option::Option::Some(::portcullis_guest::ContentAnnotations {
                audience: ::std::vec![#(::portcullis_guest::Role::#audience),*],
                priority: #priority,
                last_modified: ::core::option::Option::None,
            })
        }
    };
    quote! {
        name: #name.into(),
        title: #title,
        description: ::core::option::Option::Some(#description.into()),
        mime_type: #mime_type,
        annotations: #annotations,
        icons: ::std::vec::Vec::new(),
    }
}

/// Return type and body of the reading function; `prepare` makes the arguments.
fn read(resource: &Resource, prepare: &TokenStream) -> TokenStream {
    let Resource { function: Function { ident, parameters, output, .. }, options, .. } = resource;
    let context = parameters.wants_context.then(|| quote!(__ctx,));
    let values = (0..parameters.args.len()).map(|index| format_ident!("__argument_{index}"));
    let mime_type = match &options.mime_type {
        Some(mime_type) => quote!(::core::option::Option::Some(#mime_type)),
        None => quote!(::core::option::Option::None),
    };
    let unwrap = unwrap(output, &quote!(read_error_kind));
    let convert = quote_spanned! {output.ty.span()=>
        ::portcullis_guest::IntoResource::into_resource(__output, __uri, #mime_type)
    };
    quote! {
        ::core::result::Result<
            ::std::vec::Vec<::portcullis_guest::EmbeddedResource>,
            ::portcullis_guest::ReadError,
        > {
            #prepare
            let __output = #ident(#context #(#values),*);
            #unwrap
            #convert
        }
    }
}
