//! Values of cells: how texts become values, and how values compare.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// A cell of a text format: a number, `true`, `false`, nothing, or text. `007` and `+1` stay text: as numbers they would change.
pub(crate) fn from_text(text: &str) -> Value {
    match text {
        "" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::from(text), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let led_by_zero = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    if led_by_zero || !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    // A long row of digits is an identifier; as a float it would lose its end.
    let number = text.parse::<f64>().ok().filter(|_| text.contains(['.', 'e', 'E']))?;
    Number::from_f64(number)
}

/// The name of a value's type.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

/// Compares values of one type; `None` when their types differ or have no order.
pub(crate) fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
        },
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// An order of all values, for sorting: numbers, text, truth values, others, and at the end what is missing.
pub(crate) fn total(a: &Value, b: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) | Value::Object(_) => 3,
        Value::Null => 4,
    };
    rank(a).cmp(&rank(b)).then_with(|| compare(a, b).unwrap_or(Ordering::Equal))
}

/// A value in a message, cut short.
pub(crate) fn shown(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 80 { text } else { text.chars().take(80).chain("...".chars()).collect() }
}
