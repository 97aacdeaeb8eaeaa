//! Adding grants to a table, in the layout of what is there.

use super::entry::{is_same_entry, key_of_entry};
use toml_edit::{Array, InlineTable, Item, TableLike, Value};

/// Merges tables and lists. Other values are replaced.
pub(super) fn merge(into: &mut dyn TableLike, from: &dyn TableLike) {
    for (key, new) in from.iter() {
        let Some(old) = into.get_mut(key) else {
            if let Ok(mut value) = new.clone().into_value() {
                clear_layout(&mut value);
                into.insert(key, Item::Value(value));
            }
            continue;
        };
        if let (Some(table), Some(new)) = (old.as_inline_table_mut(), new.as_table_like()) {
            merge_inline(table, new);
        } else if let (Some(table), Some(new)) = (old.as_table_like_mut(), new.as_table_like()) {
            merge(table, new);
        } else if let (Some(new), true) = (new.as_array(), old.is_array() || old.is_array_of_tables()) {
            new.iter().for_each(|entry| insert(key, old, entry));
        } else if let (Some(old), Some(new)) = (old.as_value_mut(), new.as_value()) {
            let decor = old.decor().clone();
            *old = new.clone();
            *old.decor_mut() = decor;
        }
    }
}

/// Keeps the space before the closing brace.
fn merge_inline(into: &mut InlineTable, from: &dyn TableLike) {
    let space = into.iter().last().and_then(|(_, last)| last.decor().suffix().cloned());
    let before = into.len();
    merge(into, from);
    if let (Some(space), true) = (space, into.len() > before) {
        let last = into.len() - 1;
        for (at, (_, value)) in into.iter_mut().enumerate().filter(|(at, _)| *at + 1 >= before) {
            if at == last {
                value.decor_mut().set_suffix(space.clone());
            } else {
                value.decor_mut().set_suffix("");
            }
        }
    }
}

/// Adds an entry to a list, or merges it into the entry with the same identity.
fn insert(key: &str, list: &mut Item, entry: &Value) {
    if let Some(list) = list.as_array_of_tables_mut() {
        let Some(entry) = entry.as_inline_table() else { return };
        let at = list.iter().position(|old| key_of_entry(key, old) == key_of_entry(key, entry));
        match at.and_then(|at| list.get_mut(at)) {
            Some(old) => merge(old, entry),
            None => list.push(entry.clone().into_table()),
        }
    } else if let Some(list) = list.as_array_mut() {
        let at = list.iter().position(|old| is_same_entry(key, old, entry));
        match at.and_then(|at| list.get_mut(at)) {
            Some(Value::InlineTable(old)) => {
                entry.as_inline_table().into_iter().for_each(|entry| merge_inline(old, entry));
            }
            Some(_) => {}
            None => push(list, entry),
        }
    }
}

/// Adds an entry at the end of a list, with the layout of the entry before it. A comment after that entry stays with it.
fn push(list: &mut Array, entry: &Value) {
    let mut entry = entry.clone();
    clear_layout(&mut entry);
    let text = |raw: Option<&toml_edit::RawString>| raw.and_then(|raw| raw.as_str()).unwrap_or_default().to_owned();
    let Some(at) = list.len().checked_sub(1) else { return list.push(entry) };
    let Some(last) = list.get_mut(at) else { return };
    let before = text(last.decor().prefix());
    let Some((_, indent)) = before.rsplit_once('\n') else {
        entry.decor_mut().set_prefix(" ");
        return list.push_formatted(entry);
    };
    // Without a trailing comma, the text after the entry belongs to the entry; with one, it belongs to the list.
    let follows = text(last.decor().suffix());
    let behind = if follows.contains('\n') { follows } else { text(Some(list.trailing())) };
    let (comment, end) = behind.rsplit_once('\n').unwrap_or(("", &behind));
    entry.decor_mut().set_prefix(format!("{comment}\n{indent}"));
    if let Some(last) = list.get_mut(at) {
        last.decor_mut().set_suffix("");
    }
    let end = format!("\n{end}");
    list.push_formatted(entry);
    list.set_trailing(end);
}

/// Removes the layout of the command line.
fn clear_layout(value: &mut Value) {
    value.decor_mut().clear();
    if let Value::InlineTable(table) = value {
        table.set_dotted(false);
        table.fmt();
    }
}
