//! Options of `#[plugin(...)]` and the manifest made of them.

use proc_macro2::{Span, TokenStream};
use serde_json::{Map, Value, json};
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::{Expr, ExprArray, ExprLit, Lit, LitStr};

use crate::names;

/// What the author wrote in the attribute.
#[derive(Default)]
pub(crate) struct Options {
    name: Option<LitStr>,
    version: Option<LitStr>,
    description: Option<LitStr>,
    filesystem: Option<LitStr>,
    agent_tools: Vec<LitStr>,
}

impl Options {
    /// Reads the attribute's arguments.
    pub(crate) fn parse(tokens: TokenStream) -> syn::Result<Self> {
        let mut options = Self::default();
        syn::meta::parser(|meta| options.option(&meta)).parse2(tokens)?;
        if let Some(name) = &options.name {
            names::check(name, "plugin")?;
        }
        Ok(options)
    }

    fn option(&mut self, meta: &ParseNestedMeta) -> syn::Result<()> {
        if meta.path.is_ident("requests") {
            return meta.parse_nested_meta(|meta| self.request(&meta));
        }
        let place = match meta.path.get_ident().map(ToString::to_string).as_deref() {
            Some("name") => &mut self.name,
            Some("version") => &mut self.version,
            Some("description") => &mut self.description,
            _ => return Err(meta.error("unknown option; known are name, version, description and requests(...)")),
        };
        *place = Some(meta.value()?.parse()?);
        Ok(())
    }

    fn request(&mut self, meta: &ParseNestedMeta) -> syn::Result<()> {
        if meta.path.is_ident("filesystem") {
            let access: LitStr = meta.value()?.parse()?;
            if !matches!(access.value().as_str(), "read" | "write") {
                let message =
                    format!("filesystem = \"{}\" is not an access; ask for \"read\" or \"write\"", access.value());
                return Err(syn::Error::new(access.span(), message));
            }
            self.filesystem = Some(access);
            Ok(())
        } else if meta.path.is_ident("agent_tools") {
            let list: ExprArray = meta.value()?.parse()?;
            self.agent_tools = list.elems.iter().map(agent_tool).collect::<syn::Result<_>>()?;
            Ok(())
        } else {
            Err(meta.error("unknown request; known are filesystem and agent_tools"))
        }
    }

    /// The manifest as JSON; what the author left out comes from Cargo.
    pub(crate) fn manifest(&self) -> syn::Result<String> {
        let mut requests = Map::new();
        if let Some(access) = &self.filesystem {
            requests.insert("filesystem".into(), access.value().into());
        }
        if !self.agent_tools.is_empty() {
            let patterns: Vec<String> = self.agent_tools.iter().map(LitStr::value).collect();
            requests.insert("agent-tools".into(), patterns.into());
        }
        let name = or_cargo(self.name.as_ref(), "CARGO_PKG_NAME", "name")?;
        names::check(&LitStr::new(&name, Span::call_site()), "plugin")?;
        let mut manifest = json!({
            "name": name,
            "version": or_cargo(self.version.as_ref(), "CARGO_PKG_VERSION", "version")?,
            "description": or_cargo(self.description.as_ref(), "CARGO_PKG_DESCRIPTION", "description")?,
        });
        if !requests.is_empty() {
            manifest["requests"] = Value::Object(requests);
        }
        Ok(manifest.to_string())
    }
}

fn agent_tool(element: &Expr) -> syn::Result<LitStr> {
    let Expr::Lit(ExprLit { lit: Lit::Str(pattern), .. }) = element else {
        return Err(syn::Error::new_spanned(element, "agent tools are strings, such as \"notes.add\" or \"notes.*\""));
    };
    let text = pattern.value();
    match text.split_once('.') {
        Some((plugin, tool)) if !plugin.is_empty() && !tool.is_empty() => Ok(pattern.clone()),
        _ => {
            let message = format!(
                "\"{text}\" names no agent tool; write \"<agent plugin>.<tool>\", such as \"notes.add\" or \"notes.*\""
            );
            Err(syn::Error::new(pattern.span(), message))
        }
    }
}

/// Cargo sets its variables for the compiler, and therefore for this macro.
fn or_cargo(written: Option<&LitStr>, variable: &str, option: &str) -> syn::Result<String> {
    match written {
        Some(text) => Ok(text.value()),
        None => std::env::var(variable).map_err(|_| {
            let message = format!("{variable} is not set; build with Cargo or write #[plugin({option} = \"...\")]");
            syn::Error::new(Span::call_site(), message)
        }),
    }
}
