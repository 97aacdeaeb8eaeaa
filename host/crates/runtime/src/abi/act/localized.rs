//! Texts that a component has in several languages.

use super::bindings::act::core::types as core;

/// The text in English, or else in the first language that there is.
pub(super) fn text(text: core::LocalizedString) -> String {
    match text {
        core::LocalizedString::Plain(text) => text,
        core::LocalizedString::Localized(texts) => {
            let is_english = |(language, _): &(String, String)| language == "en" || language.starts_with("en-");
            let at = texts.iter().position(is_english).unwrap_or(0);
            texts.into_iter().nth(at).map(|(_, text)| text).unwrap_or_default()
        }
    }
}
