//! A schema that is compiled when it is first used: most tools of a host are never called, and compiling takes time and
//! memory.

use super::{Schema, SchemaError};
use serde_json::Value;
use std::sync::OnceLock;

#[derive(Debug, Default)]
pub struct LazySchema(OnceLock<Result<Schema, SchemaError>>);

impl LazySchema {
    /// Checks a value against the schema, whose text is always the same; the error is a sentence.
    pub fn check(&self, text: &str, value: &Value) -> Result<(), String> {
        match self.0.get_or_init(|| Schema::compile(text).map(Schema::without_document)) {
            Ok(schema) => schema.check(value),
            Err(error) => Err(format!("the tool's schema is invalid: {error}")),
        }
    }
}
