//! One line of TOML with grants or limits, and how it is added to or removed from the table of a plugin.

use super::super::explain::explain_line;
use super::add::merge;
use super::remove::remove;
use policy::{Grants, Limits, is_name};
use toml_edit::{DocumentMut, Item, Table, TableLike};

/// Denials print these where the operator must choose a value.
const PLACEHOLDERS: [&str; 6] = ["<directory>", "<folder>", "<name>", "<host>", "<from>", "<to>"];

pub struct GrantLine {
    text: String,
    grants: Table,
    limits: Option<Table>,
}

impl GrantLine {
    /// Parses a line such as `agent-tools = ["notes.add"]`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.contains(['\n', '\r']) {
            return Err("it must be one line".into());
        }
        if let Some(placeholder) = PLACEHOLDERS.iter().find(|it| text.contains(**it)) {
            return Err(format!("replace {placeholder} by a value"));
        }
        let document: DocumentMut = text
            .parse()
            .map_err(|error| format!("it is not a line of TOML, such as agent-tools = [\"notes.add\"]: {error}"))?;
        let mut grants = document.into_table();
        if grants.is_empty() {
            return Err("it is empty; write a line such as agent-tools = [\"notes.add\"]".into());
        }
        let limits = grants.remove("limits").map(Item::into_table).transpose();
        let limits = limits.map_err(|_| "`limits` is a table, such as limits = { fuel = 1_000_000 }".to_owned())?;
        Ok(Self { text: text.to_owned(), grants, limits })
    }

    /// Parses a line, or only a key such as `client.form`, which means all grants of that key.
    pub fn parse_or_key(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if !text.split('.').all(|part| is_name(part, usize::MAX, "-")) {
            return Self::parse(text);
        }
        Ok(Self { text: text.to_owned(), ..Self::parse(&format!("{text} = {{}}"))? })
    }

    /// Checks that the line is a valid grant or limit.
    pub fn check(&self) -> Result<(), String> {
        let grants = self.grants.to_string();
        let fail = |error| explain_line(&error, &grants, "plugins.x.grants");
        let grants: Grants = toml::from_str(&grants).map_err(fail)?;
        grants.check()?;
        match &self.limits {
            None => Ok(()),
            Some(limits) => {
                let limits = limits.to_string();
                let fail = |error| explain_line(&error, &limits, "plugins.x.limits");
                let limits: Limits = toml::from_str(&limits).map_err(fail)?;
                limits.check().map_err(|error| error.to_string())
            }
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The keys of its grants.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.grants.iter().map(|(key, _)| key)
    }

    /// Adds it to the table of a plugin.
    pub fn add_to(&self, plugin: &mut dyn TableLike) -> Result<(), String> {
        let parts = [("grants", Some(&self.grants)), ("limits", self.limits.as_ref())];
        for (key, part) in parts {
            if let Some(part) = part.filter(|part| !part.is_empty()) {
                merge(subtable(plugin, key)?, part);
            }
        }
        Ok(())
    }

    /// Removes it from the table of a plugin.
    pub fn remove_from(&self, plugin: &mut dyn TableLike) {
        if let Some(grants) = plugin.get_mut("grants").and_then(Item::as_table_like_mut) {
            remove(grants, &self.grants);
        }
        if self.limits.as_ref().is_some_and(Table::is_empty) {
            plugin.remove("limits");
        } else if let Some(limits) = plugin.get_mut("limits").and_then(Item::as_table_like_mut) {
            self.remove_from_limits(limits);
        }
    }

    /// Adds it to a table of limits.
    pub fn add_to_limits(&self, limits: &mut dyn TableLike) {
        self.limits.iter().for_each(|line| merge(limits, line));
    }

    /// Removes it from a table of limits; the key `limits` alone removes all.
    pub fn remove_from_limits(&self, limits: &mut dyn TableLike) {
        match &self.limits {
            Some(all) if all.is_empty() => limits.clear(),
            Some(line) => remove(limits, line),
            None => {}
        }
    }

    /// Adds it to a table of grants.
    pub fn add_to_grants(&self, grants: &mut dyn TableLike) {
        merge(grants, &self.grants);
    }

    /// Removes it from a table of grants.
    pub fn remove_from_grants(&self, grants: &mut dyn TableLike) {
        remove(grants, &self.grants);
    }
}

/// The table `key` of a plugin's table, created if it is missing.
fn subtable<'a>(plugin: &'a mut dyn TableLike, key: &str) -> Result<&'a mut dyn TableLike, String> {
    if !plugin.contains_key(key) {
        plugin.insert(key, Item::Table(Table::new()));
    }
    plugin.get_mut(key).and_then(Item::as_table_like_mut).ok_or_else(|| format!("`{key}` is not a table"))
}
