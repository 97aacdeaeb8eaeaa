//! Identity of the entries of lists: a mount by its path in the guest, an HTTP grant by its pattern, others by name.

use toml_edit::{TableLike, Value};

pub(super) fn is_same_entry(key: &str, a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::InlineTable(a), Value::InlineTable(b)) => key_of_entry(key, a) == key_of_entry(key, b),
        (a, b) => a.as_str().is_some() && a.as_str() == b.as_str(),
    }
}

/// The value that identifies an entry of the list `key`.
pub(super) fn key_of_entry<'a>(key: &str, entry: &'a dyn TableLike) -> Option<&'a str> {
    let name = match key {
        "filesystem" => "guest",
        "http" => "allow",
        _ => "name",
    };
    entry.get(name)?.as_str()
}
