//! JSON Schemas of tools: compiled once per plugin, with nothing in them that could reach out or run away.
//!
//! A stranger writes them and a stranger sends the values, so both are bounded: `cost` is what a schema may do with one
//! place of a value, `meter` how often places are looked at.

mod cost;
mod meter;
#[cfg(test)]
mod tests;

use cost::Cost;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use meter::{Meter, Metered, Place};
use serde_json::{Map, Value};

/// Bytes of one schema. Bounds what a list of tools costs every client.
const MAX_BYTES: usize = 64 << 10;
/// Nesting. Bounds recursion of whoever walks it.
const MAX_DEPTH: usize = 32;
/// Objects in it, schemas all of them or nearly. Bounds what compiling it costs.
const MAX_OBJECTS: usize = 4_096;
/// Places inside one another in a value, times subschemas inside one another at each. Bounds the stack.
const MAX_LEVELS: usize = 512;
/// A pattern's size when it is compiled, in bytes, and what a byte of text costs with patterns of this size. Bounds
/// patterns that are short to write and large to compile, such as `(a{1,1000}){1,1000}`, and those that take as many
/// steps for each character as they are large.
const PATTERN_SIZES: [(usize, u64); 4] = [(4 << 10, 1), (16 << 10, 4), (64 << 10, 16), (512 << 10, 128)];
/// A pattern's cache while it is matched. Bounds what many of them keep.
const PATTERN_CACHE: usize = 256 << 10;
/// How many patterns there may be if some are larger than this. Bounds what they keep.
const LARGE: usize = 64 << 10;
const MAX_LARGE_PATTERNS: u64 = 16;
/// How many complaints about a value are told.
const MAX_COMPLAINTS: usize = 3;
/// How much of one complaint is told; the value is the guest's or the client's.
const MAX_COMPLAINT: usize = 300;

/// A schema that is not accepted; a sentence.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(String);

/// A compiled schema and the document it was made of.
#[derive(Debug)]
pub struct Schema {
    document: Map<String, Value>,
    validator: Validator<Metered>,
    cost: Cost,
}

impl Schema {
    /// Compiles JSON text. The root must be an object schema: MCP has nothing else for tools.
    pub fn compile(text: &str) -> Result<Self, SchemaError> {
        let fail = |reason: String| SchemaError(reason);
        if text.len() > MAX_BYTES {
            return Err(fail(format!("it is {} bytes, more than {MAX_BYTES}", text.len())));
        }
        let value: Value = serde_json::from_str(text).map_err(|error| fail(format!("it is not JSON: {error}")))?;
        if depth(&value) > MAX_DEPTH {
            return Err(fail(format!("it is nested more than {MAX_DEPTH} deep")));
        }
        if objects(&value) > MAX_OBJECTS {
            return Err(fail(format!("it has more than {MAX_OBJECTS} objects")));
        }
        if let Some(reference) = foreign_reference(&value) {
            return Err(fail(format!("it refers to {reference:?}; only references into itself (`#...`) are followed")));
        }
        if value.get("type") != Some(&Value::from("object")) {
            return Err(fail("its root must say `\"type\": \"object\"`".into()));
        }
        let cost = cost::of(&value).map_err(fail)?;
        let (validator, weight) = build(&value, &cost).map_err(fail)?;
        let cost = Cost { weight, ..cost };
        match value {
            Value::Object(document) => Ok(Self { document, validator, cost }),
            _ => Err(fail("its root must be an object".into())),
        }
    }

    /// Without the document, which takes memory that a schema needs only to be looked at.
    pub fn without_document(mut self) -> Self {
        self.document = Map::new();
        self
    }

    /// The schema as a document.
    pub fn document(&self) -> &Map<String, Value> {
        &self.document
    }

    /// Whether a value matches; otherwise where and why not, in a sentence.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let (places, depth) = extent(value);
        if depth.saturating_mul(self.cost.chain) > MAX_LEVELS {
            return Err(format!("it is nested {depth} deep, which is more than this schema can be checked for"));
        }
        let meter = Meter::new(&self.cost, places);
        let valid = self.validator.is_valid(Place { value, meter: Some(&meter) });
        match (meter.is_used_up(), valid) {
            (true, _) => {
                Err("holding it against its schema takes too long; make it smaller, or the schema simpler".into())
            }
            (false, true) => Ok(()),
            (false, false) => Err(self.complaints(value)),
        }
    }

    fn complaints(&self, value: &Value) -> String {
        let meter = Meter::for_words(&self.cost);
        let errors = self.validator.iter_errors(Place { value, meter: Some(&meter) });
        if meter.is_used_up() {
            return "it does not match its schema; where would take too long to say".into();
        }
        errors.take(MAX_COMPLAINTS).map(|error| worded(&error)).collect::<Vec<_>>().join("; ")
    }
}

/// Compiles it with the smallest patterns that suffice; also what a byte of text costs with them.
fn build(schema: &Value, cost: &Cost) -> Result<(Validator<Metered>, u64), String> {
    let mut refused = String::new();
    for (size, weight) in PATTERN_SIZES {
        if weight > 1 && cost.patterns == 0 {
            break;
        }
        if size > LARGE && cost.patterns > MAX_LARGE_PATTERNS {
            refused = format!("it has more than {MAX_LARGE_PATTERNS} patterns, and some are large");
            break;
        }
        // The `regex` engine runs in linear time; the default one can be made to backtrack for ever.
        let patterns = PatternOptions::regex().size_limit(size).dfa_size_limit(PATTERN_CACHE);
        let options =
            jsonschema::options_for::<Metered>().with_draft(Draft::Draft202012).with_pattern_options(patterns);
        match options.build(schema) {
            Ok(validator) => return Ok((validator, weight)),
            Err(error) => refused = format!("it is not a JSON Schema: {error}{}", hint(&error)),
        }
    }
    Err(refused)
}

/// What an author of a pattern needs to know besides.
fn hint(error: &ValidationError<'_>) -> String {
    match error.to_string().ends_with(r#"is not a "regex""#) {
        true => {
            let largest = PATTERN_SIZES.iter().map(|(size, _)| size >> 10).max().unwrap_or_default();
            format!("; a pattern has no look-around and is at most {largest} KiB large when compiled")
        }
        false => String::new(),
    }
}

fn worded(error: &ValidationError<'_>) -> String {
    let mut text = match error.instance_path().as_str() {
        "" => error.to_string(),
        path => format!("{path}: {error}"),
    };
    if text.len() > MAX_COMPLAINT {
        text.truncate(text.floor_char_boundary(MAX_COMPLAINT));
        text.push('…');
    }
    text
}

/// How many places a value has, and how deep it is.
fn extent(value: &Value) -> (u64, usize) {
    // Recursion is bounded by serde_json's own limit of 128.
    let inside = |(places, depth): (u64, usize), item: &Value| {
        let (more, below) = extent(item);
        (places + more, depth.max(below + 1))
    };
    match value {
        Value::Array(items) => items.iter().fold((1, 1), inside),
        Value::Object(items) => items.values().fold((1, 1), inside),
        _ => (1, 1),
    }
}

fn depth(value: &Value) -> usize {
    // Recursion is bounded by serde_json's own limit of 128.
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(items) => 1 + items.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn objects(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(objects).sum(),
        Value::Object(items) => 1 + items.values().map(objects).sum::<usize>(),
        _ => 0,
    }
}

/// The first reference that leaves the document. None is ever fetched; saying so beats an error about a missing one.
fn foreign_reference(value: &Value) -> Option<&str> {
    match value {
        Value::Array(items) => items.iter().find_map(foreign_reference),
        Value::Object(items) => items.iter().find_map(|(key, item)| match (key.as_str(), item) {
            ("$ref" | "$dynamicRef", Value::String(target)) if !target.starts_with('#') => Some(target.as_str()),
            _ => foreign_reference(item),
        }),
        _ => None,
    }
}
