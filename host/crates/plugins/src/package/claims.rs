//! Metadata of a component, such as licence and source. It is unverified, and nothing depends on it.

use platform::text::truncate_chars;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wasmparser::KnownCustom;

/// The longest claim in characters. Bounds what a third party can show to an operator and write into the lock file.
const MAX_CLAIM_CHARS: usize = 240;
/// The prefix of the keys in the annotations of registries.
const ANNOTATION_PREFIX: &str = "org.opencontainers.image.";
/// The keys, in the order in which they are shown. Components have a custom section for each, registries an annotation.
const KEYS: [&str; 9] =
    ["licenses", "source", "revision", "authors", "vendor", "homepage", "url", "version", "description"];
/// The key for the section `producers`.
const BUILT_WITH: &str = "built-with";

/// Claims by key, such as `licenses`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Claims(BTreeMap<String, String>);

impl Claims {
    /// Takes the claims from the annotations of an artifact.
    pub fn from_annotations(annotations: &BTreeMap<String, String>) -> Self {
        let mut claims = Self::default();
        for (key, text) in annotations {
            if let Some(key) = key.strip_prefix(ANNOTATION_PREFIX).filter(|key| KEYS.contains(key)) {
                claims.add(key, text);
            }
        }
        claims
    }

    pub fn to_annotations(&self) -> BTreeMap<String, String> {
        let known = self.0.iter().filter(|(key, _)| KEYS.contains(&key.as_str()));
        known.map(|(key, text)| (format!("{ANNOTATION_PREFIX}{key}"), text.clone())).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text is not escaped.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Licence and source first. The texts are not escaped.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        KEYS.iter().chain([&BUILT_WITH]).filter_map(|key| Some((*key, self.get(key)?)))
    }

    /// Adds a custom section, if it contains claims. `outermost`: it belongs to the component itself and not to a nested
    /// module, which may come from a library.
    pub(super) fn add_section(&mut self, name: &str, data: &[u8], known: &KnownCustom<'_>, outermost: bool) {
        match name {
            key if outermost && KEYS.contains(&key) => self.add(key, &String::from_utf8_lossy(data)),
            "registry-metadata" if outermost => self.add_registry_metadata(data),
            "producers" => {
                if let KnownCustom::Producers(producers) = known {
                    self.add_producers(producers.clone());
                }
            }
            _ => {}
        }
    }

    /// The section that older tools wrote, before each claim had a section of its own.
    fn add_registry_metadata(&mut self, data: &[u8]) {
        #[derive(Deserialize)]
        struct Metadata {
            #[serde(default)]
            authors: Vec<String>,
            license: Option<String>,
            description: Option<String>,
        }
        let Ok(metadata) = serde_json::from_slice::<Metadata>(data) else { return };
        let authors = Some(metadata.authors.join(", "));
        for (key, text) in [("authors", authors), ("licenses", metadata.license), ("description", metadata.description)]
        {
            text.iter().for_each(|text| self.add(key, text));
        }
    }

    fn add_producers(&mut self, fields: wasmparser::ProducersSectionReader<'_>) {
        let mut tools = Vec::new();
        // Bounds the work for sections that no real tool writes.
        let fields = fields.into_iter().take(16).flatten();
        for field in fields.filter(|field| ["language", "processed-by"].contains(&field.name)) {
            for value in field.values.into_iter().take(16).flatten() {
                tools.push(format!("{} {}", value.name, value.version).trim().to_owned());
            }
        }
        let known = self.0.remove(BUILT_WITH).unwrap_or_default();
        let mut all: Vec<_> = known.split(", ").map(str::to_owned).collect();
        all.extend(tools.into_iter().filter(|tool| !known.split(", ").any(|other| other == tool)));
        all.retain(|tool| !tool.is_empty());
        self.add(BUILT_WITH, &all.join(", "));
    }

    /// The first non-empty text of a key counts.
    fn add(&mut self, key: &str, text: &str) {
        let mut kept = truncate_chars(text.trim(), MAX_CLAIM_CHARS).to_owned();
        if text.trim().chars().count() > MAX_CLAIM_CHARS {
            kept.push('…');
        }
        if !kept.is_empty() {
            self.0.entry(key.to_owned()).or_insert(kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_round_trip() {
        let text = |key: &str, text: &str| (key.to_owned(), text.to_owned());
        let all = BTreeMap::from([
            text("org.opencontainers.image.licenses", " MIT "),
            text("org.opencontainers.image.source", &"x".repeat(10_000)),
            text("org.opencontainers.image.title", "a.wasm"),
            text("org.opencontainers.image.revision", "  "),
            text("licenses", "GPL-3.0"),
        ]);
        let claims = Claims::from_annotations(&all);
        assert_eq!(claims.get("licenses"), Some("MIT"));
        assert_eq!(claims.get("source").unwrap().chars().count(), MAX_CLAIM_CHARS + 1);
        assert_eq!(claims.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["licenses", "source"]);
        assert_eq!(Claims::from_annotations(&claims.to_annotations()).get("licenses"), Some("MIT"));
    }

    #[test]
    fn only_sections_of_the_component_itself_count() {
        let mut claims = Claims::default();
        claims.add_section("licenses", b"MIT", &KnownCustom::Unknown, false);
        assert!(claims.is_empty());
        claims.add_section(
            "registry-metadata",
            br#"{"authors":["a","b"],"license":"MIT","more":1}"#,
            &KnownCustom::Unknown,
            true,
        );
        claims.add_section("licenses", b"GPL-3.0", &KnownCustom::Unknown, true);
        claims.add_section("registry-metadata", b"no JSON", &KnownCustom::Unknown, true);
        claims.add_section("source", b"\xff\x1b[2J", &KnownCustom::Unknown, true);
        assert_eq!((claims.get("licenses"), claims.get("authors")), (Some("MIT"), Some("a, b")));
        assert_eq!(claims.get("source"), Some("\u{fffd}\x1b[2J"));
    }
}
