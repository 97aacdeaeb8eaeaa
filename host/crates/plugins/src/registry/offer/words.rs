//! Texts of an offer, one by one: none too long, none with characters that a reader does not see.

use super::OfferError;
use platform::telemetry::{hidden, printable};
use runtime::imports::{Annotations, Icon};
use serde_json::{Map, Value};

/// Bytes of a name by which something is called.
pub(super) const MAX_NAME: usize = 64;
/// Bytes of what stands for a thing in a list.
const MAX_TITLE: usize = 200;
/// Bytes of a description.
const MAX_DESCRIPTION: usize = 4 << 10;
/// Bytes of a media type, of a time, of a picture's size.
const MAX_TOKEN: usize = 128;
/// Pictures of one thing.
const MAX_ICONS: usize = 8;
/// Bytes of a picture, which may stand in the list itself as `data:`.
const MAX_ICON: usize = 64 << 10;

/// Whether MCP and every client accept it as a name.
pub(in crate::registry) fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// The first character of a text that drives a terminal or hides something from a reader.
pub fn plain(text: &str) -> Result<(), String> {
    match hidden(text).find(|(_, c)| !matches!(c, '\n' | '\t')) {
        Some((_, c)) => Err(format!("has the control or invisible character {}", c.escape_unicode())),
        None => Ok(()),
    }
}

/// The same on one line.
fn plain_line(text: &str) -> Result<(), String> {
    match text.contains(['\n', '\t']) {
        true => Err("has more than one line, or a tab".into()),
        false => plain(text),
    }
}

/// All texts of a schema: its descriptions, and just as well its titles, defaults, examples, enums and the names of its
/// properties, which a model reads with the same eyes. Says where it is not so.
pub fn plain_object(members: &Map<String, Value>) -> Result<(), String> {
    members.iter().try_for_each(|(key, member)| {
        let shown = printable(key).chars().take(80).collect::<String>();
        plain_line(key).map_err(|problem| format!("/{shown}: the name {problem}"))?;
        plain_value(member).map_err(|deeper| format!("/{shown}{deeper}"))
    })
}

fn plain_value(value: &Value) -> Result<(), String> {
    // Recursion is bounded: a schema is at most 32 deep.
    match value {
        Value::String(text) => plain(text).map_err(|problem| format!(": {problem}")),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(at, item)| plain_value(item).map_err(|deeper| format!("/{at}{deeper}"))),
        Value::Object(members) => plain_object(members),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// The name of a tool, a prompt or an argument.
pub(super) fn name(what: &'static str, name: &str) -> Result<(), OfferError> {
    match is_name(name) {
        true => Ok(()),
        false => Err(OfferError::Name { what, name: name.chars().take(80).collect() }),
    }
}

/// The words of one thing, such as ``tool `run` ``.
pub(super) struct Words(String);

impl Words {
    /// Of this thing, for the error.
    pub(super) fn of(kind: &str, name: &str) -> Self {
        Self(format!("{kind} `{}`", name.chars().take(MAX_TITLE).collect::<String>()))
    }

    pub(super) fn refuse(&self, what: &'static str, problem: String) -> OfferError {
        OfferError::Text { of: self.0.clone(), what, problem }
    }

    fn text(&self, what: &'static str, text: &str, limit: usize) -> Result<(), OfferError> {
        if text.len() > limit {
            return Err(self.refuse(what, format!("is {} bytes, more than {limit}", text.len())));
        }
        plain_line(text).map_err(|problem| self.refuse(what, problem))
    }

    /// A name that is only shown.
    pub(super) fn label(&self, text: &str) -> Result<(), OfferError> {
        match text.is_empty() {
            true => Err(self.refuse("name", "is empty".into())),
            false => self.text("name", text, MAX_TITLE),
        }
    }

    pub(super) fn title(&self, text: Option<&String>) -> Result<(), OfferError> {
        text.map_or(Ok(()), |text| self.text("title", text, MAX_TITLE))
    }

    pub(super) fn description(&self, text: Option<&String>) -> Result<(), OfferError> {
        let Some(text) = text else { return Ok(()) };
        if text.len() > MAX_DESCRIPTION {
            return Err(self.refuse("description", format!("is {} bytes, more than {MAX_DESCRIPTION}", text.len())));
        }
        plain(text).map_err(|problem| self.refuse("description", problem))
    }

    pub(super) fn media_type(&self, text: Option<&String>) -> Result<(), OfferError> {
        let Some(text) = text else { return Ok(()) };
        self.text("media type", text, MAX_TOKEN)?;
        match text.contains('/') && text.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) {
            true => Ok(()),
            false => Err(self.refuse("media type", format!("{text:?} is none, such as `text/plain`"))),
        }
    }

    pub(super) fn annotations(&self, annotations: Option<&Annotations>) -> Result<(), OfferError> {
        let Some(annotations) = annotations else { return Ok(()) };
        if let Some(priority) = annotations.priority.filter(|priority| !(0.0..=1.0).contains(priority)) {
            return Err(self.refuse("priority", format!("is {priority}, not between 0 and 1")));
        }
        if annotations.audience.len() > 2 {
            return Err(self.refuse("audience", "names somebody twice".into()));
        }
        annotations.last_modified.as_ref().map_or(Ok(()), |text| self.text("last-modified", text, MAX_TOKEN))
    }

    pub(super) fn icons(&self, icons: &[Icon]) -> Result<(), OfferError> {
        if icons.len() > MAX_ICONS {
            return Err(self.refuse("icons", format!("are {}, more than {MAX_ICONS}", icons.len())));
        }
        for icon in icons {
            self.text("icon", &icon.src, MAX_ICON)?;
            if !icon.src.starts_with("https:") && !icon.src.starts_with("data:") {
                let shown: String = icon.src.chars().take(80).collect();
                return Err(self.refuse("icon", format!("{shown:?} is neither https: nor data:")));
            }
            self.media_type(icon.mime_type.as_ref())?;
            if icon.sizes.len() > MAX_ICONS {
                return Err(self.refuse("icon", format!("has {} sizes, more than {MAX_ICONS}", icon.sizes.len())));
            }
            icon.sizes.iter().try_for_each(|size| self.text("icon's size", size, MAX_TOKEN))?;
        }
        Ok(())
    }
}

/// Bytes of what need not be there.
pub(super) fn size(texts: &[&Option<String>], icons: &[Icon]) -> usize {
    let texts = texts.iter().filter_map(|text| text.as_ref()).map(String::len).sum::<usize>();
    texts + icons.iter().map(|icon| icon.src.len()).sum::<usize>()
}
