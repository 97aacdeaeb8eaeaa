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
    survive: Option<LitStr>,
    filesystem: Option<LitStr>,
    agent_tools: Vec<LitStr>,
    /// Keys of the manifest's `client`.
    client: Vec<String>,
    publish: bool,
    events: Vec<LitStr>,
    connections: Vec<LitStr>,
    http: Vec<LitStr>,
    secrets: Vec<LitStr>,
    env: Vec<LitStr>,
    state: bool,
    scratch: bool,
}

impl Options {
    /// Reads the attribute's arguments.
    pub(crate) fn parse(tokens: TokenStream) -> syn::Result<Self> {
        let mut options = Self::default();
        syn::meta::parser(|meta| options.option(&meta)).parse2(tokens)?;
        if let Some(name) = &options.name {
            names::check(name, "plugin")?;
        }
        if let Some(survive) = options.survive.as_ref().filter(|survive| survive.value() != "power-loss") {
            let message = "the steps of tasks survive the end of the host anyway; write \"power-loss\", or nothing";
            return Err(syn::Error::new(survive.span(), message));
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
            Some("survive") => &mut self.survive,
            _ => {
                return Err(
                    meta.error("unknown option; known are name, version, description, survive and requests(...)")
                );
            }
        };
        *place = Some(meta.value()?.parse()?);
        Ok(())
    }

    fn request(&mut self, meta: &ParseNestedMeta) -> syn::Result<()> {
        match meta.path.get_ident().map(ToString::to_string).as_deref() {
            Some("filesystem") => self.filesystem = Some(access(meta.value()?.parse()?)?),
            Some("agent_tools") => self.agent_tools = list(meta, agent_tool)?,
            Some("client") => meta.parse_nested_meta(|meta| self.question(&meta))?,
            Some("publish") => self.publish = true,
            Some("events") => self.events = list(meta, event)?,
            Some("connections") => self.connections = list(meta, connection)?,
            Some("http") => self.http = list(meta, http)?,
            Some("secrets") => self.secrets = list(meta, secret)?,
            Some("env") => self.env = list(meta, variable)?,
            Some("state") => self.state = true,
            Some("scratch") => self.scratch = true,
            _ => {
                return Err(meta.error(
                    "unknown request; known are filesystem, agent_tools, client(...), publish, events, connections, http, secrets, env, state and scratch",
                ));
            }
        }
        Ok(())
    }

    fn question(&mut self, meta: &ParseNestedMeta) -> syn::Result<()> {
        match meta.path.get_ident().map(ToString::to_string) {
            Some(question) if matches!(question.as_str(), "form" | "url" | "sample" | "roots") => {
                self.client.push(question);
                Ok(())
            }
            _ => Err(meta.error("unknown question; known are form, url, sample and roots")),
        }
    }

    /// The manifest as JSON; values that the author left out come from Cargo.
    pub(crate) fn manifest(&self) -> syn::Result<String> {
        let mut requests = Map::new();
        if let Some(access) = &self.filesystem {
            requests.insert("filesystem".into(), access.value().into());
        }
        if !self.client.is_empty() {
            let questions: Map<String, Value> = self.client.iter().map(|key| (key.clone(), true.into())).collect();
            requests.insert("client".into(), questions.into());
        }
        let flags = [("publish", self.publish), ("state", self.state), ("scratch", self.scratch)];
        requests.extend(flags.into_iter().filter(|(_, on)| *on).map(|(key, _)| (key.to_owned(), true.into())));
        let lists = [
            ("agent-tools", &self.agent_tools),
            ("events", &self.events),
            ("connections", &self.connections),
            ("http", &self.http),
            ("secrets", &self.secrets),
            ("env", &self.env),
        ];
        for (key, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            let texts: Vec<String> = list.iter().map(LitStr::value).collect();
            requests.insert(key.into(), texts.into());
        }
        let name = or_cargo(self.name.as_ref(), "CARGO_PKG_NAME", "name")?;
        names::check(&LitStr::new(&name, Span::call_site()), "plugin")?;
        let mut manifest = json!({
            "name": name,
            "version": or_cargo(self.version.as_ref(), "CARGO_PKG_VERSION", "version")?,
            "description": or_cargo(self.description.as_ref(), "CARGO_PKG_DESCRIPTION", "description")?,
        });
        if let Some(survive) = &self.survive {
            manifest["survive"] = survive.value().into();
        }
        if !requests.is_empty() {
            manifest["requests"] = Value::Object(requests);
        }
        Ok(manifest.to_string())
    }
}

fn access(access: LitStr) -> syn::Result<LitStr> {
    if matches!(access.value().as_str(), "read" | "write") {
        return Ok(access);
    }
    let message = format!("filesystem = \"{}\" is not an access; ask for \"read\" or \"write\"", access.value());
    Err(syn::Error::new(access.span(), message))
}

/// `= ["...", ...]`, with each item checked.
fn list(meta: &ParseNestedMeta, check: fn(&LitStr) -> syn::Result<()>) -> syn::Result<Vec<LitStr>> {
    let list: ExprArray = meta.value()?.parse()?;
    let text = |element: &Expr| {
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = element else {
            return Err(syn::Error::new_spanned(element, "this is a list of strings"));
        };
        check(text)?;
        Ok(text.clone())
    };
    list.elems.iter().map(text).collect()
}

fn agent_tool(pattern: &LitStr) -> syn::Result<()> {
    dotted(pattern, "names no agent tool; write \"<agent plugin>.<tool>\", such as \"notes.add\" or \"notes.*\"")
}

fn event(pattern: &LitStr) -> syn::Result<()> {
    dotted(pattern, "names no event; write dotted words, such as \"policy.effective\" or \"policy.*\"")
}

fn http(pattern: &LitStr) -> syn::Result<()> {
    let text = pattern.value();
    let url = text.split_once(' ').map_or(text.as_str(), |(_, url)| url);
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(());
    }
    let problem =
        "is no request; write `[METHODS ]https://host[:port][/path]`, such as \"GET,POST https://api.example.com/v1/\"";
    Err(syn::Error::new(pattern.span(), format!("\"{text}\" {problem}")))
}

fn secret(name: &LitStr) -> syn::Result<()> {
    names::check(name, "secret")
}

fn connection(name: &LitStr) -> syn::Result<()> {
    names::check(name, "connection")
}

fn variable(name: &LitStr) -> syn::Result<()> {
    let text = name.value();
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain && !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(());
    }
    Err(syn::Error::new(name.span(), format!("\"{text}\" is not the name of a variable, such as \"TZ\"")))
}

fn dotted(pattern: &LitStr, problem: &str) -> syn::Result<()> {
    let text = pattern.value();
    match text.split_once('.') {
        Some((start, rest)) if !start.is_empty() && !rest.is_empty() => Ok(()),
        _ => Err(syn::Error::new(pattern.span(), format!("\"{text}\" {problem}"))),
    }
}

/// Cargo sets these variables for the compiler, and therefore also for this macro.
fn or_cargo(written: Option<&LitStr>, variable: &str, option: &str) -> syn::Result<String> {
    match written {
        Some(text) => Ok(text.value()),
        None => std::env::var(variable).map_err(|_| {
            let message = format!("{variable} is not set; build with Cargo or write #[plugin({option} = \"...\")]");
            syn::Error::new(Span::call_site(), message)
        }),
    }
}
