//! `#[derive(Choice)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Data, DeriveInput, Fields, LitStr, Variant};

/// Reads an enum and generates the list of its names.
pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        let message = "a choice is an enum of plain names; a struct can be a whole form, by #[derive(Form)]";
        return Err(syn::Error::new(input.ident.span(), message));
    };
    if data.variants.is_empty() {
        return Err(syn::Error::new(input.ident.span(), "a choice needs at least one variant to choose"));
    }
    let style = style(&input.attrs)?;
    let name = &input.ident;
    let mut seen: Vec<String> = Vec::new();
    let mut options = TokenStream::new();
    for variant in &data.variants {
        let (value, title) = option(variant, style)?;
        if seen.contains(&value) {
            return Err(syn::Error::new(variant.ident.span(), format!("there are two variants named \"{value}\"")));
        }
        let title = match title {
            Some(title) => quote!(::core::option::Option::Some(#title)),
            None => quote!(::core::option::Option::None),
        };
        options.extend(quote!((#value, #title),));
        seen.push(value);
    }
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let indices: Vec<_> = (0..variants.len()).collect();
    Ok(quote! {
        #[automatically_derived]
        impl ::portcullis_guest::Choice for #name {
            const OPTIONS: &'static [(&'static str, ::core::option::Option<&'static str>)] = &[#options];

            fn index(&self) -> usize {
                match self { #(Self::#variants => #indices),* }
            }

            fn from_index(index: usize) -> ::core::option::Option<Self> {
                match index {
                    #(#indices => ::core::option::Option::Some(Self::#variants),)*
                    _ => ::core::option::Option::None,
                }
            }
        }
    })
}

/// A variant's name on the wire, and its title.
fn option(variant: &Variant, style: Style) -> syn::Result<(String, Option<LitStr>)> {
    if !matches!(variant.fields, Fields::Unit) {
        let message = format!("`{}` has fields; a choice is an enum of plain names", variant.ident);
        return Err(syn::Error::new_spanned(&variant.fields, message));
    }
    let (mut rename, mut title): (Option<LitStr>, Option<LitStr>) = (None, None);
    each(&variant.attrs, |meta| {
        let place = match meta.path.get_ident().map(ToString::to_string).as_deref() {
            Some("rename") => &mut rename,
            Some("title") => &mut title,
            _ => return Err(meta.error("unknown option; known are rename and title")),
        };
        *place = Some(meta.value()?.parse()?);
        Ok(())
    })?;
    let value = rename.map_or_else(|| style(&variant.ident.unraw().to_string()), |name| name.value());
    Ok((value, title))
}

/// Converts a variant's name to its name on the wire.
type Style = fn(&str) -> String;

fn style(attributes: &[Attribute]) -> syn::Result<Style> {
    let mut style: Style = ToOwned::to_owned;
    each(attributes, |meta| {
        if !meta.path.is_ident("rename_all") {
            return Err(meta.error("unknown option; known is rename_all"));
        }
        let name: LitStr = meta.value()?.parse()?;
        style = match name.value().as_str() {
            "lowercase" => |name| name.to_lowercase(),
            "UPPERCASE" => |name| name.to_uppercase(),
            "camelCase" => camel,
            "snake_case" => |name| words(name, '_'),
            "kebab-case" => |name| words(name, '-'),
            "SCREAMING_SNAKE_CASE" => |name| words(name, '_').to_uppercase(),
            "PascalCase" => ToOwned::to_owned,
            _ => {
                let message = "rename_all is \"lowercase\", \"UPPERCASE\", \"PascalCase\", \"camelCase\", \"snake_case\", \
                               \"SCREAMING_SNAKE_CASE\" or \"kebab-case\"";
                return Err(syn::Error::new(name.span(), message));
            }
        };
        Ok(())
    })?;
    Ok(style)
}

fn camel(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().into_iter().flat_map(char::to_lowercase).chain(chars).collect()
}

/// Lower case, with a separator between the words.
fn words(name: &str, between: char) -> String {
    let mut words = String::new();
    for (index, c) in name.char_indices() {
        if c.is_uppercase() && index > 0 {
            words.push(between);
        }
        words.extend(c.to_lowercase());
    }
    words
}

fn each(attributes: &[Attribute], mut read: impl FnMut(&ParseNestedMeta) -> syn::Result<()>) -> syn::Result<()> {
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("form")) {
        attribute.parse_nested_meta(|meta| read(&meta))?;
    }
    Ok(())
}
