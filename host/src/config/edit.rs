//! Changing the grants of one plugin in a text that a person wrote: comments, order and layout stay.
//!
//! One line of TOML is added or taken away, in the words in which a denial prints it. Lists are sets: an entry is known by
//! the text it is, or by what it is about: a directory by its place in the guest, requests by their pattern, a secret by
//! its name.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

/// What a denial puts where the operator has to choose.
const PLACEHOLDERS: [&str; 6] = ["<directory>", "<folder>", "<name>", "<host>", "<from>", "<to>"];

/// One line, read. Not yet checked for what it means.
pub struct Line(Table);

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
            .map_err(|error| format!("it is not a line of TOML, such as agent-tools = [\"notes.add\"]: {error}"))?;
        if document.is_empty() {
            return Err("it says nothing; write a line such as agent-tools = [\"notes.add\"]".into());
        }
        Ok(Self(document.into_table()))
    }

    /// A line as above, or the name of a key, such as `client.form`: all of it.
    pub fn parse_or_key(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let word = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if text.is_empty() || !text.split('.').all(|part| !part.is_empty() && part.chars().all(word)) {
            return Self::parse(text);
        }
        Self::parse(&format!("{text} = {{}}"))
    }

    /// Its first keys.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key)
    }

    /// Splits off what is under `limits`.
    pub fn split(mut self) -> (Self, Option<Self>) {
        let limits = self.0.remove("limits").and_then(|limits| limits.into_table().ok()).map(Self);
        (self, limits)
    }

    /// As text.
    pub fn text(&self) -> String {
        self.0.to_string().trim().replace('\n', "; ")
    }

    /// Adds what the line says to a table.
    pub fn add_to(&self, table: &mut dyn TableLike) {
        merge(table, &self.0);
    }

    /// Takes what the line says out of a table; how much there was to take.
    pub fn take_from(&self, table: &mut dyn TableLike) -> usize {
        take(table, &self.0)
    }
}

/// The table `key` of a table, made when it is missing. None: something else is there.
pub fn table_in<'a>(parent: &'a mut dyn TableLike, key: &str) -> Option<&'a mut dyn TableLike> {
    if !parent.contains_key(key) {
        let inline = parent.iter().all(|(_, item)| item.is_value()) && parent.is_dotted();
        let made = if inline { Item::Value(InlineTable::new().into()) } else { Item::Table(Table::new()) };
        parent.insert(key, made);
    }
    parent.get_mut(key)?.as_table_like_mut()
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
        if let (Some(old), Some(new)) = (old.as_table_like_mut(), new.as_table_like()) {
            merge(old, new);
        } else if let (Some(new), true) = (new.as_array(), old.is_array() || old.is_array_of_tables()) {
            new.iter().for_each(|entry| insert(key, old, entry));
        } else if let (Some(old), Some(new)) = (old.as_value_mut(), new.as_value()) {
            let decor = old.decor().clone();
            *old = new.clone();
            *old.decor_mut() = decor;
        }
    }
}

/// Puts an entry into a list, unless it is there; one that is about the same is changed.
fn insert(key: &str, list: &mut Item, entry: &Value) {
    if let Some(list) = list.as_array_of_tables_mut() {
        let Some(entry) = entry.as_inline_table() else { return };
        match list.iter_mut().find(|old| about(key, *old) == about(key, entry)) {
            Some(old) => merge(old, entry),
            None => list.push(entry.clone().into_table()),
        }
    } else if let Some(list) = list.as_array_mut() {
        match list.iter_mut().find(|old| same(key, old, entry)) {
            Some(Value::InlineTable(old)) => entry.as_inline_table().into_iter().for_each(|entry| merge(old, entry)),
            Some(_) => {}
            None => push(list, entry),
        }
    }
}

/// At the end, laid out as the entry before it.
fn push(list: &mut Array, entry: &Value) {
    let mut entry = entry.clone();
    plain(&mut entry);
    let before = list.iter().next_back().and_then(|last| last.decor().prefix()?.as_str().map(str::to_owned));
    match (before, list.is_empty()) {
        (Some(before), false) => {
            entry.decor_mut().set_prefix(if before.is_empty() { " ".to_owned() } else { before });
            list.push_formatted(entry);
        }
        _ => list.push(entry),
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

fn take(table: &mut dyn TableLike, line: &dyn TableLike) -> usize {
    let mut taken = 0;
    for (key, what) in line.iter() {
        let Some(item) = table.get_mut(key) else { continue };
        let whole = what.as_table_like().is_some_and(TableLike::is_empty);
        let is_list = item.is_array() || item.is_array_of_tables();
        let emptied = if whole {
            taken += 1;
            true
        } else if let (Some(inner), Some(what)) = (item.as_table_like_mut(), what.as_table_like()) {
            taken += take(inner, what);
            inner.is_empty()
        } else if let (Some(entries), true) = (what.as_array(), is_list) {
            taken += entries.iter().map(|entry| take_entry(key, item, entry)).sum::<usize>();
            item.as_array().is_some_and(Array::is_empty) || item.as_array_of_tables().is_some_and(|it| it.is_empty())
        } else {
            taken += 1;
            true
        };
        if emptied {
            table.remove(key);
        }
    }
    taken
}

/// Takes an entry out of a list; of a secret, only the hosts that are named, if any are.
fn take_entry(key: &str, list: &mut Item, entry: &Value) -> usize {
    let hosts = entry.as_inline_table().and_then(|entry| entry.get("hosts")?.as_array());
    let mut taken = 0;
    let mut keep = |old: &mut dyn TableLike| {
        if entry.as_inline_table().is_none_or(|entry| about(key, old) != about(key, entry)) {
            return true;
        }
        let (Some(hosts), Some(list)) = (hosts, old.get_mut("hosts").and_then(Item::as_array_mut)) else {
            taken += 1;
            return false;
        };
        let before = list.len();
        list.retain(|host| !hosts.iter().any(|gone| gone.as_str() == host.as_str()));
        taken += before - list.len();
        !list.is_empty()
    };
    if let Some(list) = list.as_array_of_tables_mut() {
        let mut at = 0;
        while let Some(old) = list.get_mut(at) {
            if keep(old) { at += 1 } else { list.remove(at) }
        }
    } else if let Some(list) = list.as_array_mut() {
        let mut at = 0;
        while let Some(old) = list.get_mut(at) {
            let stays = match old {
                Value::InlineTable(old) => keep(old),
                old if same(key, old, entry) => {
                    taken += 1;
                    false
                }
                _ => true,
            };
            if stays {
                at += 1;
            } else {
                list.remove(at);
            }
        }
    }
    taken
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
mod tests {
    use super::*;

    fn grants(text: &str) -> DocumentMut {
        text.parse().unwrap()
    }

    fn granted(text: &str, line: &str) -> String {
        let mut document = grants(text);
        Line::parse(line).unwrap().add_to(document.as_table_mut());
        document.to_string()
    }

    fn revoked(text: &str, line: &str) -> (usize, String) {
        let mut document = grants(text);
        let taken = Line::parse_or_key(line).unwrap().take_from(document.as_table_mut());
        (taken, document.to_string())
    }

    #[test]
    fn what_is_there_stays_as_it_is_written() {
        let text = "# mine\nagent-tools = [ # these\n    \"a.b\",   # this one\n    \"c.d\",\n]\npublish  =  true\n";
        let with = "# mine\nagent-tools = [ # these\n    \"a.b\",   # this one\n    \"c.d\",\n    \"e.f\",\n]\npublish  =  true\n";
        assert_eq!(granted(text, r#"agent-tools = ["a.b", "e.f"]"#), with);
        assert_eq!(granted(with, r#"agent-tools = ["e.f"]"#), with);
        let (taken, without) = revoked(with, r#"agent-tools = ["e.f"]"#);
        assert_eq!((taken, without.as_str()), (1, text));
        assert_eq!(granted("", "publish = true"), "publish = true\n");
        assert_eq!(granted("events = [\"a.b\"]\n", r#"events = ["c.d"]"#), "events = [\"a.b\", \"c.d\"]\n");
    }

    #[test]
    fn entries_are_known_by_what_they_are_about() {
        let read = r#"filesystem = [{ host = ".", guest = "/src", access = "read" }]"#;
        let write = read.replace("read", "write");
        assert_eq!(granted(&format!("{read}\n"), &write), format!("{write}\n"));
        let http = "http = [{ allow = \"https://a.example\", private = false }]\n";
        let more =
            granted(http, r#"http = [{ allow = "https://a.example", requests = 5 }, { allow = "https://b.example" }]"#);
        let expected = r#"http = [{ allow = "https://a.example", private = false, requests = 5 }, { allow = "https://b.example" }]"#;
        assert_eq!(more.trim(), expected);
        let secret = "secrets = [{ name = \"s\", hosts = [\"a.example\"] }]\n";
        let told = granted(secret, r#"secrets = [{ name = "s", hosts = ["b.example"] }]"#);
        assert_eq!(told, "secrets = [{ name = \"s\", hosts = [\"a.example\", \"b.example\"] }]\n");
        assert_eq!(revoked(&told, r#"secrets = [{ name = "s", hosts = ["b.example"] }]"#), (1, secret.to_owned()));
        assert_eq!(revoked(secret, r#"secrets = [{ name = "s" }]"#), (1, String::new()));
        let tables = "[[http]]\nallow = \"https://a.example\"\n";
        let more = granted(tables, r#"http = [{ allow = "https://b.example" }]"#);
        assert_eq!(more, format!("{tables}\n[[http]]\nallow = \"https://b.example\"\n"));
        assert_eq!(revoked(&more, r#"http = [{ allow = "https://b.example" }]"#).1, tables);
    }

    #[test]
    fn tables_of_any_form_are_one_thing() {
        for form in ["client.form = true\n", "client = { form = true }\n", "[client]\nform = true\n"] {
            let both: toml::Table = granted(form, r#"client.url = ["a.example"]"#).parse().unwrap();
            assert_eq!(both["client"]["url"][0].as_str(), Some("a.example"), "{form}");
            assert_eq!(both["client"]["form"].as_bool(), Some(true), "{form}");
            for gone in ["client", "client.form", "client.form = true"] {
                let (taken, rest) = revoked(form, gone);
                assert_eq!((taken, rest.parse::<toml::Table>().unwrap().is_empty()), (1, true), "{form} {gone}");
            }
        }
        assert_eq!(granted("state = { keys = 5 }\n", "state = {}"), "state = { keys = 5 }\n");
        assert_eq!(revoked("state = { keys = 5 }\n", "state = {}").1, "");
        assert_eq!(revoked("publish = true\n", "events"), (0, "publish = true\n".to_owned()));
    }

    #[test]
    fn what_is_no_line_is_said() {
        for (bad, why) in [
            ("", "says nothing"),
            ("publish", "not a line of TOML"),
            ("a = 1\nb = 2", "one line"),
            (r#"filesystem = [{ host = "<directory>", guest = "/x", access = "read" }]"#, "<directory>"),
        ] {
            assert!(Line::parse(bad).err().unwrap().contains(why), "{bad}");
        }
    }
}
