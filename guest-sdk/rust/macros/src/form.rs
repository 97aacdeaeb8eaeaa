//! `#[derive(Form)]`.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Expr, ExprLit, Field, Fields, Ident, Lit, LitStr, Token, Type};

use crate::docs;

/// Reads a struct and generates its schema and the code that reads an answer.
pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let name = &input.ident;
    let fields = fields(input)?;
    let defaults = fields.iter().filter_map(|field| {
        let (function, ty, value) = (field.default_function(), &field.ty, field.options.default.as_ref()?);
        Some(quote_spanned!(value.span()=> fn #function() -> <#ty as __private::FormField>::Plain { #value }))
    });
    let described = fields.iter().map(FormField::described);
    let taken = fields.iter().map(FormField::taken);
    Ok(quote! {
        const _: () = {
            use ::portcullis_guest::__private;
            #(#defaults)*
            #[automatically_derived]
            impl ::portcullis_guest::Form for #name {
                fn fields() -> __private::Schema {
                    __private::Schema::new() #(.field(#described))*
                }

                fn read(__answer: &str) -> __private::serde_json::Result<Self> {
                    #[allow(unused_mut, reason = "a form may have no fields")]
                    let mut __filled = __private::Filled::new(__answer)?;
                    ::core::result::Result::Ok(Self { #(#taken),* })
                }
            }
        };
    })
}

/// One field and its options.
struct FormField {
    ident: Ident,
    ty: Type,
    index: usize,
    description: Option<String>,
    options: Options,
}

/// What the author wrote in `#[form(...)]`.
#[derive(Default)]
struct Options {
    title: Option<LitStr>,
    description: Option<LitStr>,
    rename: Option<LitStr>,
    format: Option<LitStr>,
    default: Option<Expr>,
    /// The name of the builder's function, and the bound.
    bounds: Vec<(Ident, Expr)>,
}

impl FormField {
    fn read(index: usize, field: &Field) -> syn::Result<Self> {
        let ident = field.ident.clone().unwrap_or_else(|| Ident::new("_", Span::call_site()));
        let mut options = Options::default();
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("form")) {
            attribute.parse_nested_meta(|meta| options.option(&meta))?;
        }
        let description = options.description.as_ref().map(LitStr::value).or_else(|| docs::read(&field.attrs));
        Ok(Self { ident, ty: field.ty.clone(), index, description, options })
    }

    fn name(&self) -> String {
        self.options.rename.as_ref().map_or_else(|| self.ident.unraw().to_string(), LitStr::value)
    }

    fn default_function(&self) -> Ident {
        format_ident!("__default_{}", self.index)
    }

    /// The field in the schema.
    fn described(&self) -> TokenStream {
        let Self { ty, options, .. } = self;
        let (name, default) = (self.name(), self.default_function());
        let title = options.title.iter().map(|text| quote!(.title(#text)));
        let description = self.description.iter().map(|text| quote!(.description(#text)));
        let format = options.format.iter().map(|format| quote_spanned!(format.span()=> .format(#format)));
        let bounds = options.bounds.iter().map(|(bound, value)| quote_spanned!(bound.span()=> .#bound(#value)));
        let default = options.default.iter().map(|value| quote_spanned!(value.span()=> .default(&#default())));
        quote_spanned!(ty.span()=>
            __private::field::<#ty>(#name) #(#title)* #(#description)* #(#format)* #(#bounds)* #(#default)*
        )
    }

    /// The field's value.
    fn taken(&self) -> TokenStream {
        let Self { ident, ty, options, .. } = self;
        let (name, default) = (self.name(), self.default_function());
        let value = match &options.default {
            Some(_) => quote_spanned!(ty.span()=> __filled.take_or::<#ty>(#name, #default)?),
            None => quote_spanned!(ty.span()=> __filled.take::<#ty>(#name)?),
        };
        quote!(#ident: #value)
    }
}

fn fields(input: &DeriveInput) -> syn::Result<Vec<FormField>> {
    let problem = match &input.data {
        Data::Struct(_) if !input.generics.params.is_empty() => {
            "a form cannot be generic: its schema is made once, from concrete types"
        }
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => return collect(fields.named.iter()),
            Fields::Unnamed(_) | Fields::Unit => "a form is a struct with named fields; the user sees their names",
        },
        Data::Enum(_) => "a form is a struct with named fields; an enum can be one of its fields, by #[derive(Choice)]",
        Data::Union(_) => "a form is a struct with named fields",
    };
    Err(syn::Error::new(input.ident.span(), problem))
}

/// Reads all fields and reports every mistake at once.
fn collect<'a>(fields: impl Iterator<Item = &'a Field>) -> syn::Result<Vec<FormField>> {
    let mut read: Vec<FormField> = Vec::new();
    let mut errors: Option<syn::Error> = None;
    for (index, field) in fields.enumerate() {
        let problem = match FormField::read(index, field) {
            Ok(field) => match read.iter().find(|known| known.name() == field.name()) {
                None => {
                    read.push(field);
                    continue;
                }
                Some(_) => {
                    syn::Error::new(field.ident.span(), format!("there are two fields named \"{}\"", field.name()))
                }
            },
            Err(error) => error,
        };
        match &mut errors {
            Some(errors) => errors.combine(problem),
            None => errors = Some(problem),
        }
    }
    errors.map_or(Ok(read), Err)
}

impl Options {
    fn option(&mut self, meta: &ParseNestedMeta) -> syn::Result<()> {
        match meta.path.get_ident().map(ToString::to_string).as_deref() {
            Some("title") => self.title = Some(meta.value()?.parse()?),
            Some("description") => self.description = Some(meta.value()?.parse()?),
            Some("rename") => self.rename = Some(meta.value()?.parse()?),
            Some("format") => self.format = Some(format(meta.value()?.parse()?)?),
            Some("range") => meta.parse_nested_meta(|meta| self.bound(&meta, ["at_least", "at_most"]))?,
            Some("length") => meta.parse_nested_meta(|meta| self.bound(&meta, ["no_shorter", "no_longer"]))?,
            Some("default") => self.default = Some(default(meta)?),
            _ => {
                return Err(meta.error(
                    "unknown option; known are title, description, rename, format, range(...), length(...) and default",
                ));
            }
        }
        Ok(())
    }

    fn bound(&mut self, meta: &ParseNestedMeta, [least, most]: [&str; 2]) -> syn::Result<()> {
        let function = match meta.path.get_ident().map(ToString::to_string).as_deref() {
            Some("min") => least,
            Some("max") => most,
            _ => return Err(meta.error("unknown bound; known are min and max")),
        };
        self.bounds.push((Ident::new(function, meta.path.span()), meta.value()?.parse()?));
        Ok(())
    }
}

fn format(name: LitStr) -> syn::Result<LitStr> {
    match name.value().as_str() {
        "email" | "uri" | "date" | "date-time" => Ok(name),
        _ => Err(syn::Error::new(name.span(), "format is \"email\", \"uri\", \"date\" or \"date-time\"")),
    }
}

/// `default` alone uses the type's own default; a string literal becomes a `String`.
fn default(meta: &ParseNestedMeta) -> syn::Result<Expr> {
    if !meta.input.peek(Token![=]) {
        return Ok(syn::parse_quote_spanned!(meta.path.span()=> ::core::default::Default::default()));
    }
    let value: Expr = meta.value()?.parse()?;
    Ok(match &value {
        Expr::Lit(ExprLit { lit: Lit::Str(_), .. }) => {
            syn::parse_quote_spanned!(value.span()=> ::std::string::String::from(#value))
        }
        _ => value,
    })
}
