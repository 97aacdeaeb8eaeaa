//! JSON Schemas of tools: compiled once, without remote references, and bounded in what they cost.
//!
//! Neither the author of a schema nor the sender of a value is trusted, so both are bounded: `cost` bounds how many
//! subschemas apply to one location of a value, `meter` how often locations are visited.

mod cost;
mod lazy;
mod meter;
mod older_drafts;
mod portable;
mod references;
#[cfg(test)]
mod tests;

pub use lazy::LazySchema;
pub use older_drafts::to_current_draft;
pub use portable::{to_portable, unportable_parts};

use cost::SchemaCost;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use meter::{CheckMeter, Location, Metered};
use platform::text::truncate_with;
use serde_json::{Map, Value};

/// Bytes of one schema. Bounds what a list of tools costs every client.
const MAX_BYTES: usize = 64 << 10;
/// Nesting. Bounds recursion.
const MAX_DEPTH: usize = 32;
/// JSON objects in a schema, nearly all of them subschemas. Bounds the cost of compilation.
const MAX_OBJECTS: usize = 4_096;
/// Nesting of a value times nesting of subschemas at one location. Bounds the stack.
const MAX_LEVELS: usize = 512;
/// Compiled sizes of patterns in bytes, and the cost of one byte of text with patterns of this size. Bounds patterns
/// that are short but compile to something large, such as `(a{1,1000}){1,1000}`, and patterns that take a step for each
/// of their states at each character.
const PATTERN_SIZES: [(usize, u64); 4] = [(4 << 10, 1), (16 << 10, 4), (64 << 10, 16), (512 << 10, 128)];
/// Cache of a pattern while it is matched. Bounds the memory of many patterns.
const PATTERN_CACHE: usize = 256 << 10;
/// If some compiled patterns have more bytes than `LARGE`, there may be only `MAX_LARGE_PATTERNS`. Bounds the memory that they
/// hold.
const LARGE: usize = 64 << 10;
const MAX_LARGE_PATTERNS: u64 = 16;
/// Number of errors that are reported for one value.
const MAX_ERRORS: usize = 3;
/// Length of one reported error; it quotes the value, which comes from the guest or the client.
const MAX_ERROR_LENGTH: usize = 300;

/// A schema that is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(String);

/// A compiled schema and its source document.
#[derive(Debug)]
pub struct Schema {
    document: Map<String, Value>,
    validator: Validator<Metered>,
    cost: SchemaCost,
}

impl Schema {
    /// Compiles JSON text. The root must be an object schema, as MCP requires for tools.
    pub fn compile(text: &str) -> Result<Self, SchemaError> {
        let fail = |reason: String| SchemaError(reason);
        check_bytes(text.len())?;
        let value: Value = serde_json::from_str(text).map_err(|error| fail(format!("it is not JSON: {error}")))?;
        check_schema_extent(&value, text.len())?;
        if let Some(reference) = foreign_reference(&value) {
            return Err(fail(format!("it refers to {reference:?}; only references into itself (`#...`) are followed")));
        }
        if value.get("type") != Some(&Value::from("object")) {
            return Err(fail("its root must say `\"type\": \"object\"`".into()));
        }
        let cost = cost::compute_cost(&value).map_err(fail)?;
        let (validator, weight) = build(&value, &cost).map_err(fail)?;
        let cost = SchemaCost { weight, ..cost };
        match value {
            Value::Object(document) => Ok(Self { document, validator, cost }),
            _ => Err(fail("its root must be an object".into())),
        }
    }

    /// Drops the source document to save memory; it is needed only for listing.
    pub fn without_document(mut self) -> Self {
        self.document = Map::new();
        self
    }

    /// The source document.
    pub fn document(&self) -> &Map<String, Value> {
        &self.document
    }

    /// Checks a value; the error is a sentence that says where and why it does not match.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let (locations, depth) = extent(value);
        if depth.saturating_mul(self.cost.chain) > MAX_LEVELS {
            return Err(format!("it is nested {depth} deep, which is too deep for this schema"));
        }
        let meter = CheckMeter::new(&self.cost, locations);
        let valid = self.validator.is_valid(Location { value, meter: Some(&meter) });
        match (meter.is_used_up(), valid) {
            (true, _) => {
                Err("checking it against its schema takes too long; make it smaller, or the schema simpler".into())
            }
            (false, true) => Ok(()),
            (false, false) => Err(self.describe_errors(value)),
        }
    }

    fn describe_errors(&self, value: &Value) -> String {
        let meter = CheckMeter::for_errors(&self.cost);
        let errors = self.validator.iter_errors(Location { value, meter: Some(&meter) });
        if meter.is_used_up() {
            return "it does not match its schema; finding out where takes too long".into();
        }
        errors.take(MAX_ERRORS).map(|error| describe(&error)).collect::<Vec<_>>().join("; ")
    }
}

/// Checks the size of a schema whose text has `bytes` bytes, as [`Schema::compile`] does.
pub fn check_schema_extent(schema: &Value, bytes: usize) -> Result<(), SchemaError> {
    check_bytes(bytes)?;
    if depth(schema) > MAX_DEPTH {
        return Err(SchemaError(format!("it is nested more than {MAX_DEPTH} deep")));
    }
    if objects(schema) > MAX_OBJECTS {
        return Err(SchemaError(format!("it has more than {MAX_OBJECTS} objects")));
    }
    Ok(())
}

fn check_bytes(bytes: usize) -> Result<(), SchemaError> {
    if bytes > MAX_BYTES {
        return Err(SchemaError(format!("it is {bytes} bytes, more than {MAX_BYTES}")));
    }
    Ok(())
}

/// Compiles with the smallest pattern size limit that suffices; also returns the cost of a byte of text.
fn build(schema: &Value, cost: &SchemaCost) -> Result<(Validator<Metered>, u64), String> {
    let mut refused = String::new();
    for (size, weight) in PATTERN_SIZES {
        if weight > 1 && cost.patterns == 0 {
            break;
        }
        if size > LARGE && cost.patterns > MAX_LARGE_PATTERNS {
            refused = format!("it has more than {MAX_LARGE_PATTERNS} patterns, and some are large");
            break;
        }
        // The `regex` engine runs in linear time; the default engine can be made to backtrack without end.
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

/// An additional hint for authors of patterns.
fn hint(error: &ValidationError<'_>) -> String {
    match error.to_string().ends_with(r#"is not a "regex""#) {
        true => {
            let largest = PATTERN_SIZES.iter().map(|(size, _)| size >> 10).max().unwrap_or_default();
            format!("; a pattern has no look-around and is at most {largest} KiB large when compiled")
        }
        false => String::new(),
    }
}

fn describe(error: &ValidationError<'_>) -> String {
    let text = match error.instance_path().as_str() {
        "" => error.to_string(),
        path => format!("{path}: {error}"),
    };
    truncate_with(&text, MAX_ERROR_LENGTH, "…")
}

/// The number of locations in a value, and their depth.
fn extent(value: &Value) -> (u64, usize) {
    // serde_json bounds the recursion at 128.
    let inside = |(locations, depth): (u64, usize), item: &Value| {
        let (more, below) = extent(item);
        (locations + more, depth.max(below + 1))
    };
    match value {
        Value::Array(items) => items.iter().fold((1, 1), inside),
        Value::Object(items) => items.values().fold((1, 1), inside),
        _ => (1, 1),
    }
}

fn depth(value: &Value) -> usize {
    // serde_json bounds the recursion at 128.
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

/// The first reference that leaves the document. References are never fetched; this gives a clearer error than the
/// library's.
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
