//! Members that all kinds of listed things have, as they are shown to clients.

use crate::server_input::text::visible;
use platform::telemetry::is_unsafe;
use platform::text::truncate;
use protocol::names::OWN_META_PREFIX;
use rmcp::model::Icon;
use serde_json::{Map, Value};

/// Length of a name, in bytes. Bounds what every record of a call holds.
const MAX_NAME: usize = 512;
/// Length of a title, in bytes: people see it in one line.
const MAX_TITLE: usize = 1 << 10;
/// Length of a description, in bytes. Bounds how much of a model's context one entry fills.
pub(crate) const MAX_DESCRIPTION: usize = 64 << 10;
/// What an icon's address begins with. Bounds what clients are made to open: other schemes are programs or files.
const ICON_SCHEMES: [&str; 3] = ["https://", "http://", "data:image/"];

/// What people see of a name. The error says why there is none.
pub(crate) fn shown_name(given: &str) -> Result<String, String> {
    let name = visible(given).split_whitespace().collect::<Vec<_>>().join(" ");
    match name.len() {
        1..=MAX_NAME => Ok(name),
        _ => Err(format!("its name is not 1 to {MAX_NAME} bytes that people can see")),
    }
}

pub(crate) fn shown_title(text: &str) -> String {
    truncate(&visible(text).replace(['\n', '\t'], " "), MAX_TITLE).to_owned()
}

pub(crate) fn shown_description(text: &str) -> String {
    truncate(&visible(text), MAX_DESCRIPTION).to_owned()
}

/// The icons that a client may open.
pub(crate) fn shown_icons(icons: Vec<Icon>) -> Vec<Icon> {
    let is_shown =
        |icon: &Icon| ICON_SCHEMES.iter().any(|scheme| icon.src.starts_with(scheme)) && !icon.src.contains(is_unsafe);
    icons.into_iter().filter(is_shown).collect()
}

/// A server's `_meta` without keys of the host's namespace.
pub(crate) fn foreign_meta(mut meta: Map<String, Value>) -> Map<String, Value> {
    meta.retain(|key, _| !key.starts_with(OWN_META_PREFIX));
    meta
}

/// About the length of a value's JSON text.
pub(crate) fn text_length(value: &Value) -> usize {
    // serde_json bounds the recursion at 128.
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| 1 + text_length(item)).sum::<usize>() + 2,
        Value::Object(items) => items.iter().map(|(key, item)| key.len() + 4 + text_length(item)).sum::<usize>() + 2,
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
    }
}
