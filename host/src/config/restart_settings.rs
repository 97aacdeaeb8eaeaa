//! The settings that take effect only when the host is restarted.

use toml::{Table, Value};

/// A configuration file without the parts that a running host reloads (plugins and the withdrawn list) and the part that it
/// does not use (`[sources]`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RestartSettings(Table);

impl RestartSettings {
    pub(super) fn parse(text: &str) -> Self {
        let mut table: Table = toml::from_str(text).unwrap_or_default();
        for reloaded in ["plugins", "agent", "sources"] {
            table.remove(reloaded);
        }
        if let Some(server) = table.get_mut("server").and_then(Value::as_table_mut) {
            server.remove("withdrawn");
        }
        Self(table)
    }

    /// The keys that differ, such as `server.http`.
    pub fn changed_keys(&self, other: &Self) -> Vec<String> {
        let empty = Table::new();
        let mut keys = Vec::new();
        for (table, (one, other)) in pairs(&self.0, &other.0) {
            match (one.map_or(Some(&empty), Value::as_table), other.map_or(Some(&empty), Value::as_table)) {
                (Some(one), Some(other)) => {
                    keys.extend(changed_keys(one, other).into_iter().map(|key| format!("{table}.{key}")));
                }
                _ if one != other => keys.push(table.to_owned()),
                _ => {}
            }
        }
        keys
    }
}

type Pair<'a> = (&'a str, (Option<&'a Value>, Option<&'a Value>));

/// The values of both tables by key.
fn pairs<'a>(one: &'a Table, other: &'a Table) -> Vec<Pair<'a>> {
    let more = other.keys().filter(|key| !one.contains_key(*key));
    one.keys().chain(more).map(|key| (key.as_str(), (one.get(key), other.get(key)))).collect()
}

fn changed_keys<'a>(one: &'a Table, other: &'a Table) -> Vec<&'a str> {
    pairs(one, other).into_iter().filter(|(_, (one, other))| one != other).map(|(key, _)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reloaded_settings_are_ignored() {
        let old = RestartSettings::parse(
            "[server]\nreload = true\nstate = \"a\"\n[secrets]\nk.env = \"K\"\n[plugins.a]\nsource = \"a\"",
        );
        let same = "[server]\nstate = \"a\"\nreload = true\nwithdrawn = []\n[secrets.k]\nenv = \"K\"\n[agent.b]\nsource = \"b\"\n[sources.x]\n";
        assert!(old.changed_keys(&RestartSettings::parse(same)).is_empty());
        let other = "[server]\nstate = \"b\"\nhttp = \"[::1]:1\"\n[model]\nurl = \"x\"\n";
        let mut keys = old.changed_keys(&RestartSettings::parse(other));
        keys.sort();
        assert_eq!(keys, ["model.url", "secrets.k", "server.http", "server.reload", "server.state"]);
    }
}
