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
    requests: Map<String, Value>,
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
        let named = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
        let Some((key, form)) = REQUESTS.iter().find(|(key, _)| *key == named) else {
            return Err(meta.error(format!("unknown request; known are {}", known_requests())));
        };
        let value = match form {
            RequestForm::Access => access(&meta.value()?.parse()?)?.into(),
            RequestForm::Flag => true.into(),
            RequestForm::Questions => questions(meta)?,
            RequestForm::List(check) => list(meta, *check)?.into(),
        };
        let asks_nothing = value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty);
        if !asks_nothing {
            self.requests.insert(key.replace('_', "-"), value);
        }
        Ok(())
    }

    /// The manifest as JSON; values that the author left out come from Cargo.
    pub(crate) fn manifest(&self) -> syn::Result<String> {
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
        if !self.requests.is_empty() {
            manifest["requests"] = Value::Object(self.requests.clone());
        }
        Ok(manifest.to_string())
    }
}

/// How a request is written.
enum RequestForm {
    /// `= "read"` or `= "write"`.
    Access,
    /// The key alone.
    Flag,
    /// `(form, url, ...)`.
    Questions,
    /// `= ["...", ...]`, with each item checked.
    List(fn(&LitStr) -> syn::Result<()>),
}

/// All requests, under their keys in the attribute.
const REQUESTS: &[(&str, RequestForm)] = &[
    ("filesystem", RequestForm::Access),
    ("agent_tools", RequestForm::List(agent_tool)),
    ("client", RequestForm::Questions),
    ("publish", RequestForm::Flag),
    ("events", RequestForm::List(event)),
    ("connections", RequestForm::List(connection)),
    ("http", RequestForm::List(http)),
    ("secrets", RequestForm::List(secret)),
    ("env", RequestForm::List(variable)),
    ("state", RequestForm::Flag),
    ("scratch", RequestForm::Flag),
];

/// The keys of all requests, as the end of a sentence.
fn known_requests() -> String {
    let shown = |(key, form): &(&str, RequestForm)| match form {
        RequestForm::Questions => format!("{key}(...)"),
        RequestForm::Access | RequestForm::Flag | RequestForm::List(_) => (*key).to_owned(),
    };
    let keys: Vec<String> = REQUESTS.iter().map(shown).collect();
    match keys.split_last() {
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

fn access(access: &LitStr) -> syn::Result<String> {
    if matches!(access.value().as_str(), "read" | "write") {
        return Ok(access.value());
    }
    let message = format!("filesystem = \"{}\" is not an access; ask for \"read\" or \"write\"", access.value());
    Err(syn::Error::new(access.span(), message))
}

/// What the plugin asks of the client, each as a key of an object.
fn questions(meta: &ParseNestedMeta) -> syn::Result<Value> {
    let mut asked = Map::new();
    meta.parse_nested_meta(|meta| match meta.path.get_ident().map(ToString::to_string) {
        Some(question) if matches!(question.as_str(), "form" | "url" | "sample" | "roots") => {
            asked.insert(question, true.into());
            Ok(())
        }
        _ => Err(meta.error("unknown question; known are form, url, sample and roots")),
    })?;
    Ok(asked.into())
}

fn list(meta: &ParseNestedMeta, check: fn(&LitStr) -> syn::Result<()>) -> syn::Result<Vec<String>> {
    let list: ExprArray = meta.value()?.parse()?;
    let text = |element: &Expr| {
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = element else {
            return Err(syn::Error::new_spanned(element, "this is a list of strings"));
        };
        check(text)?;
        Ok(text.value())
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
