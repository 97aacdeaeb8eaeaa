//! Expands the annotated module.

use std::collections::HashSet;

use proc_macro2::{Span, TokenStream};
use syn::spanned::Spanned;
use syn::{Ident, Item, ItemFn, ItemMod, LitStr};

use crate::expand;
use crate::function::Function;
use crate::kind::RECONCILE;
use crate::manifest::Options;
use crate::prompt::Prompt;
use crate::resource::Resource;
use crate::tool::Tool;

/// The tools, resources and prompts of the module's marked functions.
#[derive(Default)]
pub(crate) struct Offer {
    pub(crate) tools: Vec<Tool>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<Resource>,
    pub(crate) prompts: Vec<Prompt>,
    /// The function that finds out about effects in doubt.
    pub(crate) reconcile: Option<Ident>,
    /// Kinds and names seen so far.
    seen: HashSet<(&'static str, String)>,
}

/// Reads attribute and module, reports every mistake at once, and generates the plugin.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let options = Options::parse(options)?;
    let mut module = module(item)?;
    let Some((_, items)) = &mut module.content else {
        let message =
            "the module's body must follow here: `mod name { ... }`; put the functions' helpers into other files";
        return Err(syn::Error::new(module.span(), message));
    };
    let offer = Offer::take(items)?;
    if offer.is_empty() {
        let message =
            "a plugin needs at least one function marked #[tool], #[resource], #[resource_template] or #[prompt]";
        return Err(syn::Error::new(module.ident.span(), message));
    }
    let manifest = options.manifest()?;
    items.push(expand::plugin(&module.vis, &manifest, &offer));
    if let Some((_, items)) = &mut module.content {
        items.push(expand::exports(&manifest, &offer));
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

impl Offer {
    fn take(items: &mut [Item]) -> syn::Result<Self> {
        let mut offer = Self::default();
        let mut errors: Option<syn::Error> = None;
        for item in items {
            let Item::Fn(function) = item else { continue };
            let Err(problem) = offer.add(function) else { continue };
            match &mut errors {
                Some(errors) => errors.combine(problem),
                None => errors = Some(problem),
            }
        }
        errors.map_or(Ok(offer), Err)
    }

    /// Adds the function to the list for its marker, if it has one.
    fn add(&mut self, function: &mut ItemFn) -> syn::Result<()> {
        if let Some(tool) = Tool::take(function)? {
            self.only_once("tool", "named", &tool.function.name, &tool.function)?;
            self.tools.push(tool);
        } else if let Some(resource) = Resource::take(function)? {
            self.only_once("resource", "at", &resource.uri, &resource.function)?;
            self.resources.push(resource);
        } else if let Some(template) = Resource::take_template(function)? {
            self.only_once("resource template", "at", &template.uri, &template.function)?;
            self.templates.push(template);
        } else if let Some(prompt) = Prompt::take(function)? {
            self.only_once("prompt", "named", &prompt.function.name, &prompt.function)?;
            self.prompts.push(prompt);
        } else if RECONCILE.take(function).is_some() {
            let ident = &function.sig.ident;
            if self.reconcile.is_some() {
                return Err(syn::Error::new(
                    ident.span(),
                    "there are two functions marked #[reconcile]; one answers for all tools",
                ));
            }
            self.reconcile = Some(ident.clone());
        }
        Ok(())
    }

    /// A name may occur twice under opposite `cfg` conditions, because the compiler sees only one of them.
    fn only_once(&mut self, kind: &'static str, how: &str, name: &LitStr, function: &Function) -> syn::Result<()> {
        if !function.conditions.is_empty() || self.seen.insert((kind, name.value())) {
            return Ok(());
        }
        let remedy = if how == "named" { format!("; rename one by #[{kind}(name = \"...\")]") } else { String::new() };
        let message = format!("there are two {kind}s {how} \"{}\"{remedy}", name.value());
        Err(syn::Error::new(name.span(), message))
    }

    fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.resources.is_empty() && self.templates.is_empty() && self.prompts.is_empty()
    }

    /// Whether any argument has suggested values.
    pub(crate) fn completes(&self) -> bool {
        let prompts = self.prompts.iter().map(|prompt| &prompt.function);
        let templates = self.templates.iter().map(|template| &template.function);
        let mut args = prompts.chain(templates).flat_map(|function| &function.parameters.args);
        args.any(|arg| arg.options.complete.is_some())
    }
}
