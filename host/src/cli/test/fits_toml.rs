//! Which JSON values a transcript can store as TOML.

use serde_json::Value;

/// Whether TOML can express a value: it has no null, and no number beyond 64 bits with a sign.
pub(super) fn fits_toml(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Number(number) => number.is_f64() || number.is_i64(),
        Value::Array(items) => items.iter().all(fits_toml),
        Value::Object(fields) => fields.values().all(fits_toml),
        Value::Bool(_) | Value::String(_) => true,
    }
}
