//! The generated code.
//!
//! Generated items start with `__`, so that they do not shadow the author's names.

mod completion;
mod prompt;
mod resource;
mod shared;
mod tool;

use proc_macro2::Literal;
use quote::quote;
use syn::{Item, Visibility, parse_quote};

use crate::plugin::Offer;

/// The constant `PLUGIN`, which tests call natively and the component's exports call.
pub(crate) fn plugin(module: &Visibility, manifest: &str, offer: &Offer) -> Item {
    // As visible as the module: more would be unreachable, less would hide it from the module's parent.
    let visibility: Visibility = match module {
        Visibility::Public(_) => parse_quote!(pub),
        _ => parse_quote!(pub(crate)),
    };
    let tools = offer.tools.iter().map(tool::entry);
    let resources = offer.resources.iter().map(resource::entry);
    let templates = offer.templates.iter().map(resource::template_entry);
    let prompts = offer.prompts.iter().map(prompt::entry);
    let reconcile = offer.reconcile.iter();
    parse_quote! {
        /// The plugin made of this module's functions.
        #[allow(dead_code, clippy::all, clippy::pedantic, reason = "generated; unused natively outside tests")]
        #visibility const PLUGIN: ::portcullis_guest::Plugin = ::portcullis_guest::Plugin::new(
            #manifest,
            &[#(#tools),*],
            &[#(#resources),*],
            &[#(#templates),*],
            &[#(#prompts),*],
        )#(.with_reconcile(#reconcile))*;
    }
}

/// Turns the crate into a component: the exported functions, and the custom sections that the host reads before it
/// compiles. Besides `tools`, a component exports only the kinds that it offers.
///
/// Exporting a symbol and naming a section are unsafe attributes in edition 2024, because a wrong name could shadow
/// something else. These names are reserved for us, hence the one `allow` in the generated code.
pub(crate) fn exports(manifest: &str, offer: &Offer) -> Item {
    let bytes = Literal::byte_string(manifest.as_bytes());
    let length = manifest.len();
    let bindings = quote!(::portcullis_guest::__private::bindings);
    let besides = [
        (!offer.resources.is_empty() || !offer.templates.is_empty(), quote!(#bindings::resources)),
        (!offer.prompts.is_empty(), quote!(#bindings::prompts)),
        (offer.completes(), quote!(#bindings::completions)),
        (offer.reconcile.is_some(), quote!(#bindings::reconcile)),
    ];
    let besides = besides.iter().filter(|(offered, _)| *offered).map(|(_, module)| module);
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
            ::portcullis_guest::__private::export!(Guest with_types_in #bindings);
            #(#besides::export!(Guest with_types_in #besides);)*
        };
    }
}
