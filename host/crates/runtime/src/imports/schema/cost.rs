//! What a schema costs before any value is there: how much of it is held against one and the same place.
//!
//! `allOf`, `anyOf`, `$ref` and their like stay where they are; forty of them that each name the next one twice are 2^40
//! steps for the value `{}`. Their sum is counted here with references followed, each subschema once. Keywords such as
//! `properties` go into the value, which `meter` counts while it is checked.

use serde_json::{Map, Value};
use std::collections::HashMap;

/// Subschemas held against one place. Bounds ladders of references, which double with each rung.
const MAX_HERE: u64 = 4_096;
/// The same for all subschemas together that say `unevaluated...`: the library writes out what each of them may have
/// seen. Bounds memory and time of compiling them.
const MAX_UNEVALUATED: u64 = 16_384;
/// Subschemas inside one another at one place. Bounds the stack of whoever walks them.
const MAX_CHAIN: usize = 32;
/// Patterns. Each compiled one has a cache of its own.
const MAX_PATTERNS: u64 = 64;

/// Keywords with one schema, with a list of them and with named ones, which are held against the same place.
const HERE: [&str; 4] = ["not", "if", "then", "else"];
const LISTS_HERE: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const MAPS_HERE: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Those that are held against something inside it.
const BELOW: [&str; 9] = [
    "items",
    "contains",
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "propertyNames",
    "contentSchema",
    "prefixItems",
];
const MAPS_BELOW: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

/// What a schema costs.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Cost {
    /// The most subschemas held against one place.
    pub(super) here: u64,
    /// The longest chain of them.
    pub(super) chain: usize,
    /// How many patterns it has, and how many of them are held against names.
    pub(super) patterns: u64,
    pub(super) name_patterns: u64,
    /// What a byte of text costs when a pattern is held against it; known when they are compiled.
    pub(super) weight: u64,
}

/// The cost of a schema, or why it is refused.
pub(super) fn of(root: &Value) -> Result<Cost, String> {
    let mut walk = Walk { root, anchors: HashMap::new(), known: HashMap::new(), pending: vec![root] };
    walk.anchors_of(root);
    let (mut cost, mut unevaluated, mut names) = (Cost::default(), 0u64, false);
    let mut seen = std::collections::HashSet::new();
    while let Some(schema) = walk.pending.pop() {
        if !seen.insert(std::ptr::from_ref(schema)) {
            continue;
        }
        let weighed = walk.weigh(schema, 0)?;
        cost.here = cost.here.max(weighed.here);
        cost.chain = cost.chain.max(weighed.chain);
        let Value::Object(keywords) = schema else { continue };
        if !std::ptr::eq(schema, root) && keywords.get("$id").is_some_and(Value::is_string) {
            return Err("it has an `$id` below its root; a schema of a tool is one document".into());
        }
        if is_unevaluated(keywords) {
            unevaluated = unevaluated.saturating_add(weighed.here);
        }
        let on_names = keywords.get("patternProperties").and_then(Value::as_object).map_or(0, Map::len) as u64;
        cost.name_patterns += on_names;
        cost.patterns += on_names + u64::from(keywords.contains_key("pattern"));
        names |= keywords.contains_key("propertyNames");
        walk.pending.extend(below(keywords));
        walk.pending.extend(here(keywords));
    }
    if unevaluated > MAX_UNEVALUATED {
        return Err(format!("`unevaluated...` is said over more than {MAX_UNEVALUATED} subschemas"));
    }
    if cost.patterns > MAX_PATTERNS {
        return Err(format!("it has more than {MAX_PATTERNS} patterns"));
    }
    if names {
        cost.name_patterns = cost.patterns;
    }
    Ok(cost)
}

#[derive(Debug, Clone, Copy)]
struct Weighed {
    here: u64,
    chain: usize,
}

struct Walk<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, Vec<&'a Value>>,
    /// By address; none is being weighed.
    known: HashMap<*const Value, Option<Weighed>>,
    pending: Vec<&'a Value>,
}

impl<'a> Walk<'a> {
    /// Objects by the names they have for references. Data may look like it, too; then it counts in vain.
    fn anchors_of(&mut self, value: &'a Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.anchors_of(item)),
            Value::Object(items) => {
                for name in ["$anchor", "$dynamicAnchor"].iter().filter_map(|key| items.get(*key)?.as_str()) {
                    self.anchors.entry(name).or_default().push(value);
                }
                items.values().for_each(|item| self.anchors_of(item));
            }
            _ => {}
        }
    }

    fn weigh(&mut self, schema: &'a Value, depth: usize) -> Result<Weighed, String> {
        let Value::Object(keywords) = schema else { return Ok(Weighed { here: 1, chain: 1 }) };
        let address = std::ptr::from_ref(schema);
        match self.known.get(&address) {
            Some(Some(weighed)) => return Ok(*weighed),
            Some(None) => return Err("it refers to itself without going into the value, which never ends".into()),
            None => {}
        }
        if depth >= MAX_CHAIN {
            return Err(format!("more than {MAX_CHAIN} subschemas lie inside one another at one place"));
        }
        self.known.insert(address, None);
        let (mut sum, mut chain) = (0u64, 0);
        let mut parts: Vec<&Value> = here(keywords).collect();
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(target) = keywords.get(key).and_then(Value::as_str) {
                let targets = self.targets(target)?;
                self.pending.extend(targets.iter().copied());
                parts.extend(targets);
            }
        }
        for part in parts {
            let weighed = self.weigh(part, depth + 1)?;
            sum = sum.saturating_add(weighed.here);
            chain = chain.max(weighed.chain);
        }
        // It is looked through once more for what it has evaluated, and so is what lies inside.
        let times = if is_unevaluated(keywords) { 3 } else { 1 };
        let weighed = Weighed { here: sum.saturating_mul(times).saturating_add(1), chain: chain + 1 };
        if weighed.here > MAX_HERE {
            return Err(format!(
                "with its references followed, more than {MAX_HERE} subschemas are held against one place of a value"
            ));
        }
        self.known.insert(address, Some(weighed));
        Ok(weighed)
    }

    /// What a reference names.
    fn targets(&self, reference: &str) -> Result<Vec<&'a Value>, String> {
        let missing = || format!("it refers to {reference:?}, which is not in it");
        let fragment = decoded(reference.strip_prefix('#').ok_or_else(missing)?).ok_or_else(missing)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(&fragment).map(|target| vec![target]).ok_or_else(missing);
        }
        self.anchors.get(fragment.as_str()).cloned().ok_or_else(missing)
    }
}

fn is_unevaluated(keywords: &Map<String, Value>) -> bool {
    ["unevaluatedItems", "unevaluatedProperties"].iter().any(|key| keywords.contains_key(*key))
}

/// Subschemas that are held against the same place, without references.
fn here(keywords: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let alone = HERE.iter().filter_map(|key| keywords.get(*key));
    let lists = LISTS_HERE.iter().filter_map(|key| keywords.get(*key)?.as_array()).flatten();
    let maps = MAPS_HERE.iter().filter_map(|key| keywords.get(*key)?.as_object()).flat_map(Map::values);
    alone.chain(lists).chain(maps)
}

/// Those that are held against something inside it, or against nothing as long as nobody refers to them.
fn below(keywords: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let alone = BELOW.iter().filter_map(|key| keywords.get(*key)).flat_map(|item| match item {
        Value::Array(items) => items.as_slice(),
        other => std::slice::from_ref(other),
    });
    alone.chain(MAPS_BELOW.iter().filter_map(|key| keywords.get(*key)?.as_object()).flat_map(Map::values))
}

/// A fragment without its percent signs; none when it has others.
fn decoded(fragment: &str) -> Option<String> {
    let mut parts = fragment.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend(part.bytes().skip(2));
    }
    String::from_utf8(bytes).ok()
}
