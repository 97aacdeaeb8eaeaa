//! Checks single texts of an offer: their length, and that a reader sees every character.

use super::error::OfferError;
use super::limits::MAX_NAME;
use platform::telemetry::{printable, unsafe_characters};
use platform::text::truncate_chars;
use policy::is_name;
use runtime::imports::{Annotations, Icon};
use serde_json::{Map, Value};

const MAX_TITLE: usize = 200;
const MAX_DESCRIPTION: usize = 4 << 10;
/// Bytes of a media type, a time or an icon's size.
const MAX_TOKEN: usize = 128;
const MAX_ICONS: usize = 8;
/// Bytes of an icon, whose `data:` URL is part of the list itself.
const MAX_ICON: usize = 64 << 10;

/// Whether MCP and every client accept the name.
pub(crate) fn is_valid_name(name: &str) -> bool {
    is_name(name, MAX_NAME, "_-")
}

/// Refuses characters that control a terminal or hide something from a reader; names the first one.
pub fn check_text(text: &str) -> Result<(), String> {
    match unsafe_characters(text).find(|(_, c)| !matches!(c, '\n' | '\t')) {
        Some((_, c)) => Err(format!("has the control or invisible character {}", c.escape_unicode())),
        None => Ok(()),
    }
}

fn check_line(text: &str) -> Result<(), String> {
    match text.contains(['\n', '\t']) {
        true => Err("has more than one line, or a tab".into()),
        false => check_text(text),
    }
}

/// Checks every string of a JSON schema and every name of a property, not only descriptions: a model reads defaults,
/// examples and enums just as well. The error names the path of the first bad text.
pub fn check_object_texts(members: &Map<String, Value>) -> Result<(), String> {
    members.iter().try_for_each(|(key, member)| {
        let shown = truncate_chars(&printable(key), 80).to_owned();
        check_line(key).map_err(|problem| format!("/{shown}: the name {problem}"))?;
        check_value_texts(member).map_err(|below| format!("/{shown}{below}"))
    })
}

fn check_value_texts(value: &Value) -> Result<(), String> {
    // Recursion is bounded: a schema is at most 32 levels deep.
    match value {
        Value::String(text) => check_text(text).map_err(|problem| format!(": {problem}")),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| check_value_texts(item).map_err(|below| format!("/{index}{below}"))),
        Value::Object(members) => check_object_texts(members),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// Checks the name of a tool, prompt or argument.
pub(super) fn check_name(kind: &'static str, name: &str) -> Result<(), OfferError> {
    match is_valid_name(name) {
        true => Ok(()),
        false => Err(OfferError::InvalidName { kind, name: truncate_chars(name, 80).to_owned() }),
    }
}

/// Checks the texts of one item.
pub(super) struct TextCheck {
    /// The item, for errors: such as ``tool `run` ``.
    subject: String,
}

impl TextCheck {
    pub(super) fn new(kind: &str, name: &str) -> Self {
        Self { subject: format!("{kind} `{}`", truncate_chars(name, MAX_TITLE)) }
    }

    pub(super) fn refuse(&self, part: &'static str, problem: String) -> OfferError {
        OfferError::InvalidText { subject: self.subject.clone(), part, problem }
    }

    fn text(&self, part: &'static str, text: &str, limit: usize) -> Result<(), OfferError> {
        if text.len() > limit {
            return Err(self.refuse(part, format!("is {} bytes, more than {limit}", text.len())));
        }
        check_line(text).map_err(|problem| self.refuse(part, problem))
    }

    /// A name that is only displayed.
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
        check_text(text).map_err(|problem| self.refuse("description", problem))
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
            return Err(self.refuse("audience", "names a role twice".into()));
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
                let shown = truncate_chars(&icon.src, 80).to_owned();
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

/// Bytes of optional texts and icons.
pub(super) fn optional_size(texts: &[&Option<String>], icons: &[Icon]) -> usize {
    let texts = texts.iter().filter_map(|text| text.as_ref()).map(String::len).sum::<usize>();
    texts + icons.iter().map(|icon| icon.src.len()).sum::<usize>()
}
