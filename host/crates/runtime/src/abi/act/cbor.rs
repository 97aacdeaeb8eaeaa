//! JSON as CBOR and back. What is written is deterministic: the shortest numbers, and keys in the order of their bytes.

use ciborium::Value as Cbor;
use data_encoding::BASE64;
use serde_json::{Map, Number, Value};

/// Bytes of CBOR that are read at once. Bounds memory: one byte can become a value of fifty.
pub(super) const MAX_READ: usize = 256 << 10;
/// Nesting of what is read. Bounds recursion.
const MAX_DEPTH: usize = 64;

/// The error is a sentence.
pub(super) fn from_json(text: &str) -> Result<Vec<u8>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("they are not JSON: {error}"))?;
    let mut bytes = Vec::new();
    ciborium::into_writer(&to_cbor(value), &mut bytes).map_err(|error| format!("they cannot be CBOR: {error}"))?;
    Ok(bytes)
}

/// The error is the end of a sentence about the bytes.
pub(super) fn to_json(bytes: &[u8]) -> Result<Value, String> {
    if bytes.len() > MAX_READ {
        return Err(format!("is more than {MAX_READ} bytes; send JSON, or in parts"));
    }
    let mut rest = bytes;
    let value = ciborium::de::from_reader_with_recursion_limit(&mut rest, MAX_DEPTH);
    let value: Cbor = value.map_err(|error| format!("is not CBOR: {error}"))?;
    if rest.is_empty() { Ok(to_value(value)) } else { Err("has more than one value".into()) }
}

fn to_cbor(value: Value) -> Cbor {
    match value {
        Value::Null => Cbor::Null,
        Value::Bool(value) => Cbor::Bool(value),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Cbor::Integer(number.into()),
            (None, Some(number)) => Cbor::Integer(number.into()),
            (None, None) => Cbor::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Cbor::Text(text),
        Value::Array(items) => Cbor::Array(items.into_iter().map(to_cbor).collect()),
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members.into_iter().collect();
            // In CBOR, a text begins with its length, so shorter keys come first.
            members.sort_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
            Cbor::Map(members.into_iter().map(|(name, value)| (Cbor::Text(name), to_cbor(value))).collect())
        }
    }
}

fn to_value(value: Cbor) -> Value {
    match value {
        Cbor::Bool(value) => Value::Bool(value),
        Cbor::Integer(number) => {
            let number = i128::from(number);
            let small = u64::try_from(number).map(Number::from).or_else(|_| i64::try_from(number).map(Number::from));
            small.map_or_else(|_| Value::String(number.to_string()), Value::Number)
        }
        Cbor::Float(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
        Cbor::Text(text) => Value::String(text),
        Cbor::Bytes(bytes) => Value::String(BASE64.encode(&bytes)),
        Cbor::Array(items) => Value::Array(items.into_iter().map(to_value).collect()),
        Cbor::Map(members) => {
            let key = |key: Cbor| match to_value(key) {
                Value::String(text) => text,
                other => other.to_string(),
            };
            let members = members.into_iter().map(|(name, value)| (key(name), to_value(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        Cbor::Tag(_, value) => to_value(*value),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_come_back_and_are_written_in_one_way() {
        let value = json!({"b": [1, -2, 1.5, null, true, 18_446_744_073_709_551_615_u64], "aa": {"x": "é"}, "a": ""});
        let bytes = from_json(&value.to_string()).unwrap();
        assert_eq!(to_json(&bytes).unwrap(), value);
        // {"a": "", "b": 1}, whatever the order was.
        assert_eq!(from_json(r#"{"b": 1, "a": ""}"#).unwrap(), [0xA2, 0x61, b'a', 0x60, 0x61, b'b', 1]);
        assert_eq!(from_json("1.5").unwrap(), [0xF9, 0x3E, 0], "the shortest float");
        assert_eq!(to_json(&[0x42, 0, 0xFF]).unwrap(), json!("AP8="));
        assert_eq!(to_json(&[0xA1, 1, 0xC1, 2]).unwrap(), json!({"1": 2}), "a number as key, and a tag");
    }

    #[test]
    fn hostile_bytes_are_refused() {
        let deep = [vec![0x81; 10_000], vec![1]].concat();
        let huge = [0x9B, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
        for bytes in [&deep[..], &huge, &[], &[1, 1], &[0xFF], &vec![0x80; MAX_READ + 1]] {
            assert!(to_json(bytes).is_err(), "{:x?}", &bytes[..bytes.len().min(10)]);
        }
        assert_eq!(to_json(&[0xF9, 0x7E, 0]).unwrap(), Value::Null, "not a number");
    }
}
