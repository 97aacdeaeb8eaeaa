//! The cost of a schema, independent of any value: how many subschemas apply to one location of a value.
//!
//! In-place applicators (`allOf`, `anyOf`, `$ref` and others) multiply: forty definitions that each reference the next
//! one twice are 2^40 evaluations for the value `{}`. This module counts them with references followed, each subschema
//! once. Keywords such as `properties` descend into the value; `meter` counts those while a value is checked.

use super::references::References;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Subschemas that apply to one location. Bounds chains of references that double with each step.
const MAX_AT_LOCATION: u64 = 4_096;
/// Sum over all subschemas with `unevaluated...`: the library expands what each of them may have evaluated. Bounds
/// memory and time of compilation.
const MAX_UNEVALUATED: u64 = 16_384;
/// Nested subschemas at one location. Bounds the stack.
const MAX_CHAIN: usize = 32;
/// Number of patterns. Each compiled pattern has its own cache.
const MAX_PATTERNS: u64 = 64;

/// In-place applicators with one schema, with a list, and with a map.
const IN_PLACE: [&str; 4] = ["not", "if", "then", "else"];
const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const IN_PLACE_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Applicators to children of the location.
const TO_CHILDREN: [&str; 9] = [
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
const TO_CHILDREN_MAPS: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct SchemaCost {
    /// The largest number of subschemas at one location.
    pub(super) at_location: u64,
    /// The deepest nesting of subschemas at one location.
    pub(super) chain: usize,
    /// All patterns, and those that are matched against property names.
    pub(super) patterns: u64,
    pub(super) name_patterns: u64,
    /// The cost of matching one byte of text against a pattern; set when the patterns are compiled.
    pub(super) weight: u64,
}

/// The cost of a schema; the error is a sentence that says why it is refused.
pub(super) fn compute_cost(root: &Value) -> Result<SchemaCost, String> {
    let mut walk = CostWalk { references: References::new(root), known: HashMap::new(), pending: vec![root] };
    let (mut cost, mut unevaluated, mut names) = (SchemaCost::default(), 0u64, false);
    let mut seen = std::collections::HashSet::new();
    while let Some(schema) = walk.pending.pop() {
        if !seen.insert(std::ptr::from_ref(schema)) {
            continue;
        }
        let subschema = walk.cost_of(schema, 0)?;
        cost.at_location = cost.at_location.max(subschema.at_location);
        cost.chain = cost.chain.max(subschema.chain);
        let Value::Object(keywords) = schema else { continue };
        if !std::ptr::eq(schema, root) && keywords.get("$id").is_some_and(Value::is_string) {
            return Err("it has an `$id` below its root; a schema of a tool is one document".into());
        }
        if is_unevaluated(keywords) {
            unevaluated = unevaluated.saturating_add(subschema.at_location);
        }
        let on_names = keywords.get("patternProperties").and_then(Value::as_object).map_or(0, Map::len) as u64;
        cost.name_patterns += on_names;
        cost.patterns += on_names + u64::from(keywords.contains_key("pattern"));
        names |= keywords.contains_key("propertyNames");
        walk.pending.extend(to_children(keywords));
        walk.pending.extend(in_place(keywords));
    }
    if unevaluated > MAX_UNEVALUATED {
        return Err(format!("`unevaluated...` applies to more than {MAX_UNEVALUATED} subschemas"));
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
struct SubschemaCost {
    at_location: u64,
    chain: usize,
}

struct CostWalk<'a> {
    references: References<'a>,
    /// By address; `None` while it is being computed.
    known: HashMap<*const Value, Option<SubschemaCost>>,
    pending: Vec<&'a Value>,
}

impl<'a> CostWalk<'a> {
    fn cost_of(&mut self, schema: &'a Value, depth: usize) -> Result<SubschemaCost, String> {
        let Value::Object(keywords) = schema else { return Ok(SubschemaCost { at_location: 1, chain: 1 }) };
        let address = std::ptr::from_ref(schema);
        match self.known.get(&address) {
            Some(Some(cost)) => return Ok(*cost),
            Some(None) => return Err("it refers to itself at one location of a value, which never ends".into()),
            None => {}
        }
        if depth >= MAX_CHAIN {
            return Err(format!("more than {MAX_CHAIN} subschemas are nested at one location"));
        }
        self.known.insert(address, None);
        let (mut sum, mut chain) = (0u64, 0);
        let mut parts: Vec<&Value> = in_place(keywords).collect();
        let referred = self.references.referred_by(schema)?;
        self.pending.extend(referred.iter().copied());
        parts.extend(referred);
        for part in parts {
            let cost = self.cost_of(part, depth + 1)?;
            sum = sum.saturating_add(cost.at_location);
            chain = chain.max(cost.chain);
        }
        // `unevaluated...` evaluates the subschemas again to find what they have evaluated.
        let times = if is_unevaluated(keywords) { 3 } else { 1 };
        let cost = SubschemaCost { at_location: sum.saturating_mul(times).saturating_add(1), chain: chain + 1 };
        if cost.at_location > MAX_AT_LOCATION {
            return Err(format!(
                "with its references followed, more than {MAX_AT_LOCATION} subschemas apply to one location of a value"
            ));
        }
        self.known.insert(address, Some(cost));
        Ok(cost)
    }
}

fn is_unevaluated(keywords: &Map<String, Value>) -> bool {
    ["unevaluatedItems", "unevaluatedProperties"].iter().any(|key| keywords.contains_key(*key))
}

/// Subschemas at the same location, without references.
pub(super) fn in_place(keywords: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let alone = IN_PLACE.iter().filter_map(|key| keywords.get(*key));
    let lists = IN_PLACE_LISTS.iter().filter_map(|key| keywords.get(*key)?.as_array()).flatten();
    let maps = IN_PLACE_MAPS.iter().filter_map(|key| keywords.get(*key)?.as_object()).flat_map(Map::values);
    alone.chain(lists).chain(maps)
}

/// Applicators to children of the location.
pub(super) fn to_children(keywords: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let alone = TO_CHILDREN.iter().filter_map(|key| keywords.get(*key)).flat_map(|item| match item {
        Value::Array(items) => items.as_slice(),
        other => std::slice::from_ref(other),
    });
    alone.chain(TO_CHILDREN_MAPS.iter().filter_map(|key| keywords.get(*key)?.as_object()).flat_map(Map::values))
}
