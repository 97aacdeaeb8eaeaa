//! What is claimed of a component by whoever made it or published it: licence, source and the like. Nobody has checked
//! any of it, and nothing is decided by it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wasmparser::KnownCustom;

/// The longest claim that is kept, in characters. Bounds what a stranger puts before an operator and into the lock file.
const LONGEST: usize = 240;
/// Who says so in a registry, before each key.
const ANNOTATION: &str = "org.opencontainers.image.";
/// What may be claimed, in the order in which it is shown. Components have it in custom sections of these names,
/// registries in annotations.
const KEYS: [&str; 9] =
    ["licenses", "source", "revision", "authors", "vendor", "homepage", "url", "version", "description"];
/// Made of the section `producers`.
const BUILT_WITH: &str = "built-with";

/// Claims by what they are about, such as `licenses`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Claims(BTreeMap<String, String>);

impl Claims {
    /// Those among an artefact's annotations.
    pub fn of_annotations(annotations: &BTreeMap<String, String>) -> Self {
        let mut claims = Self::default();
        for (key, text) in annotations {
            if let Some(key) = key.strip_prefix(ANNOTATION).filter(|key| KEYS.contains(key)) {
                claims.add(key, text);
            }
        }
        claims
    }

    /// The same as annotations.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        let known = self.0.iter().filter(|(key, _)| KEYS.contains(&key.as_str()));
        known.map(|(key, text)| (format!("{ANNOTATION}{key}"), text.clone())).collect()
    }

    /// Whether nothing is claimed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One of them; not escaped.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// All, licence and source first; not escaped.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        KEYS.iter().chain([&BUILT_WITH]).filter_map(|key| Some((*key, self.get(key)?)))
    }

    /// Takes a custom section, if it is one of those. `outermost`: it is the component's own, and not that of a module in
    /// it, which may have come from anywhere.
    pub(super) fn section(&mut self, name: &str, data: &[u8], known: &KnownCustom<'_>, outermost: bool) {
        match name {
            key if outermost && KEYS.contains(&key) => self.add(key, &String::from_utf8_lossy(data)),
            "registry-metadata" if outermost => self.metadata(data),
            "producers" => {
                if let KnownCustom::Producers(producers) = known {
                    self.producers(producers.clone());
                }
            }
            _ => {}
        }
    }

    /// The section that tools wrote before each claim had one of its own.
    fn metadata(&mut self, data: &[u8]) {
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

    fn producers(&mut self, fields: wasmparser::ProducersSectionReader<'_>) {
        let mut tools = Vec::new();
        // More than that is nobody's tools.
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

    /// The first that says something counts.
    fn add(&mut self, key: &str, text: &str) {
        let mut kept: String = text.trim().chars().take(LONGEST).collect();
        if text.trim().chars().count() > LONGEST {
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
    fn annotations_are_read_and_written() {
        let text = |key: &str, text: &str| (key.to_owned(), text.to_owned());
        let all = BTreeMap::from([
            text("org.opencontainers.image.licenses", " MIT "),
            text("org.opencontainers.image.source", &"x".repeat(10_000)),
            text("org.opencontainers.image.title", "a.wasm"),
            text("org.opencontainers.image.revision", "  "),
            text("licenses", "GPL-3.0"),
        ]);
        let claims = Claims::of_annotations(&all);
        assert_eq!(claims.get("licenses"), Some("MIT"));
        assert_eq!(claims.get("source").unwrap().chars().count(), LONGEST + 1);
        assert_eq!(claims.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["licenses", "source"]);
        assert_eq!(Claims::of_annotations(&claims.annotations()).get("licenses"), Some("MIT"));
    }

    #[test]
    fn sections_are_read_where_they_are_the_components_own() {
        let mut claims = Claims::default();
        claims.section("licenses", b"MIT", &KnownCustom::Unknown, false);
        assert!(claims.is_empty());
        claims.section(
            "registry-metadata",
            br#"{"authors":["a","b"],"license":"MIT","more":1}"#,
            &KnownCustom::Unknown,
            true,
        );
        claims.section("licenses", b"GPL-3.0", &KnownCustom::Unknown, true);
        claims.section("registry-metadata", b"no JSON", &KnownCustom::Unknown, true);
        claims.section("source", b"\xff\x1b[2J", &KnownCustom::Unknown, true);
        assert_eq!((claims.get("licenses"), claims.get("authors")), (Some("MIT"), Some("a, b")));
        assert_eq!(claims.get("source"), Some("\u{fffd}\x1b[2J"));
    }
}
