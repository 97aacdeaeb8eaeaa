//! Changing the grants of one plugin in a text that a person wrote: comments, order and layout stay.
//!
//! One line of TOML is added or taken away, in the words in which a denial prints it. Lists are sets: an entry is known by
//! the text it is, or by what it is about: a directory by its place in the guest, requests by their pattern, a secret by
//! its name.

use policy::{Grants, Limits};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

/// What a denial puts where the operator has to choose.
const PLACEHOLDERS: [&str; 6] = ["<directory>", "<folder>", "<name>", "<host>", "<from>", "<to>"];

/// One line, read.
pub struct Line {
    text: String,
    grants: Table,
    limits: Option<Table>,
}

impl Line {
    /// Reads a line such as `agent-tools = ["notes.add"]`; the error is a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.contains(['\n', '\r']) {
            return Err("it has to be one line".into());
        }
        if let Some(open) = PLACEHOLDERS.iter().find(|open| text.contains(*open)) {
            return Err(format!("put what you mean in the place of {open}"));
        }
        let document: DocumentMut = text
            .parse()
            .map_err(|error| format!("it is no line of TOML, such as agent-tools = [\"notes.add\"]: {error}"))?;
        let mut grants = document.into_table();
        if grants.is_empty() {
            return Err("it says nothing; write a line such as agent-tools = [\"notes.add\"]".into());
        }
        let limits = grants.remove("limits").map(Item::into_table).transpose();
        let limits = limits.map_err(|_| "`limits` is a table, such as limits = { fuel = 1_000_000 }".to_owned())?;
        Ok(Self { text: text.to_owned(), grants, limits })
    }

    /// A line as above, or the name of a key, such as `client.form`: all of it.
    pub fn parse_or_key(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let word = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if text.is_empty() || !text.split('.').all(|part| !part.is_empty() && part.chars().all(word)) {
            return Self::parse(text);
        }
        Ok(Self { text: text.to_owned(), ..Self::parse(&format!("{text} = {{}}"))? })
    }

    /// Whether it is something that can be granted at all.
    pub fn check(&self) -> Result<(), String> {
        let grants: Grants = toml::from_str(&self.grants.to_string()).map_err(|error| error.message().to_owned())?;
        grants.check()?;
        match &self.limits {
            None => Ok(()),
            Some(limits) => {
                let limits: Limits = toml::from_str(&limits.to_string()).map_err(|error| error.message().to_owned())?;
                limits.check().map_err(|error| error.to_string())
            }
        }
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Which grants it is about.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.grants.iter().map(|(key, _)| key)
    }

    /// Whether it is about limits.
    pub fn has_limits(&self) -> bool {
        self.limits.is_some()
    }

    /// Adds what it says to a plugin's table.
    pub fn add_to(&self, plugin: &mut dyn TableLike) -> Result<(), String> {
        let parts = [("grants", Some(&self.grants)), ("limits", self.limits.as_ref())];
        for (key, part) in parts {
            if let Some(part) = part.filter(|part| !part.is_empty()) {
                merge(table_in(plugin, key)?, part);
            }
        }
        Ok(())
    }

    /// Takes what it says out of a plugin's table.
    pub fn take_from(&self, plugin: &mut dyn TableLike) {
        if let Some(grants) = plugin.get_mut("grants").and_then(Item::as_table_like_mut) {
            take(grants, &self.grants);
        }
        let whole = self.limits.as_ref().is_some_and(Table::is_empty);
        if whole {
            plugin.remove("limits");
        } else if let (Some(line), Some(limits)) =
            (&self.limits, plugin.get_mut("limits").and_then(Item::as_table_like_mut))
        {
            take(limits, line);
        }
    }

    /// Adds what it says to a table of grants.
    pub fn add_to_grants(&self, grants: &mut dyn TableLike) {
        merge(grants, &self.grants);
    }

    /// Takes what it says out of a table of grants.
    pub fn take_from_grants(&self, grants: &mut dyn TableLike) {
        take(grants, &self.grants);
    }
}

/// The table `key` of a plugin's table, made when it is missing.
fn table_in<'a>(plugin: &'a mut dyn TableLike, key: &str) -> Result<&'a mut dyn TableLike, String> {
    if !plugin.contains_key(key) {
        plugin.insert(key, Item::Table(Table::new()));
    }
    plugin.get_mut(key).and_then(Item::as_table_like_mut).ok_or_else(|| format!("`{key}` is no table"))
}

fn merge(into: &mut dyn TableLike, from: &dyn TableLike) {
    for (key, new) in from.iter() {
        let Some(old) = into.get_mut(key) else {
            if let Ok(mut value) = new.clone().into_value() {
                plain(&mut value);
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

/// The space before the closing brace stays there.
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

/// Puts an entry into a list, unless it is there; one that is about the same is changed.
fn insert(key: &str, list: &mut Item, entry: &Value) {
    if let Some(list) = list.as_array_of_tables_mut() {
        let Some(entry) = entry.as_inline_table() else { return };
        let at = list.iter().position(|old| about(key, old) == about(key, entry));
        match at.and_then(|at| list.get_mut(at)) {
            Some(old) => merge(old, entry),
            None => list.push(entry.clone().into_table()),
        }
    } else if let Some(list) = list.as_array_mut() {
        let at = list.iter().position(|old| same(key, old, entry));
        match at.and_then(|at| list.get_mut(at)) {
            Some(Value::InlineTable(old)) => {
                entry.as_inline_table().into_iter().for_each(|entry| merge_inline(old, entry));
            }
            Some(_) => {}
            None => push(list, entry),
        }
    }
}

/// At the end, laid out as the entry before it. A comment behind that one stays with it.
fn push(list: &mut Array, entry: &Value) {
    let mut entry = entry.clone();
    plain(&mut entry);
    let text = |raw: Option<&toml_edit::RawString>| raw.and_then(|raw| raw.as_str()).unwrap_or_default().to_owned();
    let Some(at) = list.len().checked_sub(1) else { return list.push(entry) };
    let Some(last) = list.get_mut(at) else { return };
    let before = text(last.decor().prefix());
    let Some((_, indent)) = before.rsplit_once('\n') else {
        entry.decor_mut().set_prefix(" ");
        return list.push_formatted(entry);
    };
    // Without a comma after it, what follows the entry is its own; with one, it is the list's.
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

/// Takes an entry out; a comment behind the one before it stays.
fn pull(list: &mut Array, at: usize) {
    let gone = list.remove(at);
    let before = gone.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
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

/// Without the layout of the command line.
fn plain(value: &mut Value) {
    value.decor_mut().clear();
    if let Value::InlineTable(table) = value {
        table.set_dotted(false);
        table.fmt();
    }
}

fn take(table: &mut dyn TableLike, line: &dyn TableLike) {
    for (key, what) in line.iter() {
        let Some(item) = table.get_mut(key) else { continue };
        let whole = what.as_table_like().is_some_and(TableLike::is_empty);
        let is_list = item.is_array() || item.is_array_of_tables();
        let emptied = if let (Some(inner), Some(what), false) = (item.as_table_like_mut(), what.as_table_like(), whole)
        {
            take(inner, what);
            inner.is_empty()
        } else if let (Some(entries), true) = (what.as_array(), is_list) {
            entries.iter().for_each(|entry| take_entry(key, item, entry));
            item.as_array().is_some_and(Array::is_empty) || item.as_array_of_tables().is_some_and(|it| it.is_empty())
        } else {
            true
        };
        if emptied {
            table.remove(key);
        }
    }
}

/// Takes an entry out of a list; of a secret, only the hosts that are named, if any are.
fn take_entry(key: &str, list: &mut Item, entry: &Value) {
    let gone = entry.as_inline_table();
    let hosts = gone.and_then(|gone| gone.get("hosts")?.as_array());
    let stays = |old: &mut dyn TableLike| {
        if gone.is_none_or(|gone| about(key, old) != about(key, gone)) {
            return true;
        }
        let (Some(hosts), Some(list)) = (hosts, old.get_mut("hosts").and_then(Item::as_array_mut)) else {
            return false;
        };
        list.retain(|host| !hosts.iter().any(|gone| gone.as_str() == host.as_str()));
        !list.is_empty()
    };
    if let Some(list) = list.as_array_of_tables_mut() {
        for at in (0..list.len()).rev() {
            if !list.get_mut(at).is_none_or(|old| stays(old)) {
                list.remove(at);
            }
        }
    } else if let Some(list) = list.as_array_mut() {
        for at in (0..list.len()).rev() {
            let kept = match list.get_mut(at) {
                Some(Value::InlineTable(old)) => stays(old),
                Some(old) => !same(key, old, entry),
                None => true,
            };
            if !kept {
                pull(list, at);
            }
        }
    }
}

fn same(key: &str, a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::InlineTable(a), Value::InlineTable(b)) => about(key, a) == about(key, b),
        (a, b) => a.as_str().is_some() && a.as_str() == b.as_str(),
    }
}

/// What an entry of a list is about.
fn about<'a>(key: &str, entry: &'a dyn TableLike) -> Option<&'a str> {
    let name = match key {
        "filesystem" => "guest",
        "http" => "allow",
        _ => "name",
    };
    entry.get(name)?.as_str()
}

#[cfg(test)]
mod tests;
