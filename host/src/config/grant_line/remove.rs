//! Removing grants from a table.

use super::entry::{is_same_entry, key_of_entry};
use toml_edit::{Array, Item, TableLike, Value};

/// Removes what the line names; an empty table in it stands for everything below its key.
pub(super) fn remove(table: &mut dyn TableLike, line: &dyn TableLike) {
    for (key, named) in line.iter() {
        let Some(item) = table.get_mut(key) else { continue };
        let everything = named.as_table_like().is_some_and(TableLike::is_empty);
        let is_list = item.is_array() || item.is_array_of_tables();
        let emptied = if let (Some(inner), Some(named), false) =
            (item.as_table_like_mut(), named.as_table_like(), everything)
        {
            remove(inner, named);
            inner.is_empty()
        } else if let (Some(entries), true) = (named.as_array(), is_list) {
            entries.iter().for_each(|entry| remove_entry(key, item, entry));
            item.as_array().is_some_and(Array::is_empty) || item.as_array_of_tables().is_some_and(|it| it.is_empty())
        } else {
            true
        };
        if emptied {
            table.remove(key);
        }
    }
}

/// Removes an entry from a list. If the line names hosts of a secret, only those hosts are removed.
fn remove_entry(key: &str, list: &mut Item, entry: &Value) {
    let named = entry.as_inline_table();
    let hosts = named.and_then(|named| named.get("hosts")?.as_array());
    let keep = |old: &mut dyn TableLike| {
        if named.is_none_or(|named| key_of_entry(key, old) != key_of_entry(key, named)) {
            return true;
        }
        let (Some(hosts), Some(list)) = (hosts, old.get_mut("hosts").and_then(Item::as_array_mut)) else {
            return false;
        };
        list.retain(|host| !hosts.iter().any(|named| named.as_str() == host.as_str()));
        !list.is_empty()
    };
    if let Some(list) = list.as_array_of_tables_mut() {
        for at in (0..list.len()).rev() {
            if !list.get_mut(at).is_none_or(|old| keep(old)) {
                list.remove(at);
            }
        }
    } else if let Some(list) = list.as_array_mut() {
        for at in (0..list.len()).rev() {
            let kept = match list.get_mut(at) {
                Some(Value::InlineTable(old)) => keep(old),
                Some(old) => !is_same_entry(key, old, entry),
                None => true,
            };
            if !kept {
                remove_at(list, at);
            }
        }
    }
}

/// Removes an entry, but keeps a comment after the entry before it.
fn remove_at(list: &mut Array, at: usize) {
    let removed = list.remove(at);
    let before = removed.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
    let Some((comment, _)) = before.rsplit_once('\n').filter(|(comment, _)| comment.contains('#')) else { return };
    if let Some(next) = list.get_mut(at) {
        let prefix = next.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
        let prefix = format!("{comment}{prefix}");
        next.decor_mut().set_prefix(prefix);
    } else {
        let trailing = format!("{comment}{}", list.trailing().as_str().unwrap_or_default());
        list.set_trailing(trailing);
    }
}
