//! From the annotated module to its expansion.

use std::collections::HashSet;

use proc_macro2::{Span, TokenStream};
use syn::spanned::Spanned;
use syn::{Item, ItemMod};

use crate::expand;
use crate::manifest::Options;
use crate::tool::Tool;

/// Reads attribute and module, reports every mistake at once, and generates the plugin.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let options = Options::parse(options)?;
    let mut module = module(item)?;
    let Some((_, items)) = &mut module.content else {
        let message =
            "the module's body must follow here: `mod name { ... }`; put the functions' helpers into other files";
        return Err(syn::Error::new(module.span(), message));
    };
    let tools = tools(items)?;
    if tools.is_empty() {
        return Err(syn::Error::new(module.ident.span(), "a plugin needs at least one function marked #[tool]"));
    }
    let manifest = options.manifest()?;
    items.push(expand::plugin(&module.vis, &manifest, &tools));
    if let Some((_, items)) = &mut module.content {
        items.push(expand::exports(&manifest));
    }
    Ok(quote::quote!(#module))
}

fn module(item: TokenStream) -> syn::Result<ItemMod> {
    match syn::parse2::<Item>(item)? {
        Item::Mod(module) => Ok(module),
        _ => Err(syn::Error::new(
            Span::call_site(),
            "#[plugin] goes on a module: `mod name { ... }` with the tools as functions inside",
        )),
    }
}

fn tools(items: &mut [Item]) -> syn::Result<Vec<Tool>> {
    let mut tools: Vec<Tool> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    let mut errors: Option<syn::Error> = None;
    for item in items {
        let Item::Fn(function) = item else { continue };
        let problem = match Tool::take(function) {
            Ok(None) => continue,
            // Two variants of one tool under opposite conditions are fine; the compiler sees only one.
            Ok(Some(tool)) if tool.conditions.is_empty() && !seen.insert(tool.name.value()) => {
                let message = format!(
                    "there are two tools named \"{}\"; rename one by #[tool(name = \"...\")]",
                    tool.name.value()
                );
                syn::Error::new(tool.name.span(), message)
            }
            Ok(Some(tool)) => {
                tools.push(tool);
                continue;
            }
            Err(error) => error,
        };
        match &mut errors {
            Some(errors) => errors.combine(problem),
            None => errors = Some(problem),
        }
    }
    errors.map_or(Ok(tools), Err)
}
