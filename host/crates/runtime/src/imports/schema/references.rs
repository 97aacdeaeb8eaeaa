//! References inside a schema, and the subschemas that they lead to.

use serde_json::Value;
use std::collections::HashMap;

/// Keywords whose text refers to a subschema.
const REFERRING: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

pub(super) struct References<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, Vec<&'a Value>>,
}

impl<'a> References<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        let mut references = Self { root, anchors: HashMap::new() };
        references.collect_anchors(root);
        references
    }

    /// Collects anchors. Plain data that looks like an anchor is collected too: it only adds to what is found.
    fn collect_anchors(&mut self, value: &'a Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.collect_anchors(item)),
            Value::Object(items) => {
                for name in ["$anchor", "$dynamicAnchor"].iter().filter_map(|key| items.get(*key)?.as_str()) {
                    self.anchors.entry(name).or_default().push(value);
                }
                items.values().for_each(|item| self.collect_anchors(item));
            }
            _ => {}
        }
    }

    /// All subschemas that a schema refers to; the error is a sentence that names a reference that leads nowhere.
    pub(super) fn referred_by(&self, schema: &Value) -> Result<Vec<&'a Value>, String> {
        let mut found = Vec::new();
        for reference in REFERRING.iter().filter_map(|key| schema.get(*key)?.as_str()) {
            found.extend(self.targets(reference)?);
        }
        Ok(found)
    }

    fn targets(&self, reference: &str) -> Result<Vec<&'a Value>, String> {
        let missing = || format!("it refers to {reference:?}, which is not in it");
        let fragment = percent_decoded(reference.strip_prefix('#').ok_or_else(missing)?).ok_or_else(missing)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(&fragment).map(|target| vec![target]).ok_or_else(missing);
        }
        self.anchors.get(fragment.as_str()).cloned().ok_or_else(missing)
    }
}

/// Percent-decodes a fragment; `None` when an escape is malformed.
fn percent_decoded(fragment: &str) -> Option<String> {
    let mut parts = fragment.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend(part.bytes().skip(2));
    }
    String::from_utf8(bytes).ok()
}
