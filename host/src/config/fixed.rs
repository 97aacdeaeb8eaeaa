//! What of a configuration holds until the host is started again.

use toml::{Table, Value};

/// All of a configuration file but what a running host takes up, which is plugins and what is withdrawn, and what it does
/// not use, which is where plugins are published.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fixed(Table);

impl Fixed {
    /// Of a file's text.
    pub(super) fn of(text: &str) -> Self {
        let mut table: Table = toml::from_str(text).unwrap_or_default();
        for taken_up in ["plugins", "agent", "sources"] {
            table.remove(taken_up);
        }
        if let Some(server) = table.get_mut("server").and_then(Value::as_table_mut) {
            server.remove("withdrawn");
        }
        Self(table)
    }

    /// The keys that differ, such as `server.http`.
    pub fn differing(&self, other: &Self) -> Vec<String> {
        let empty = Table::new();
        let mut keys = Vec::new();
        for (table, (one, other)) in pairs(&self.0, &other.0) {
            match (one.map_or(Some(&empty), Value::as_table), other.map_or(Some(&empty), Value::as_table)) {
                (Some(one), Some(other)) => {
                    keys.extend(differing(one, other).into_iter().map(|key| format!("{table}.{key}")));
                }
                _ if one != other => keys.push(table.to_owned()),
                _ => {}
            }
        }
        keys
    }
}

type Pair<'a> = (&'a str, (Option<&'a Value>, Option<&'a Value>));

/// What stands under each key of either table.
fn pairs<'a>(one: &'a Table, other: &'a Table) -> Vec<Pair<'a>> {
    let more = other.keys().filter(|key| !one.contains_key(*key));
    one.keys().chain(more).map(|key| (key.as_str(), (one.get(key), other.get(key)))).collect()
}

fn differing<'a>(one: &'a Table, other: &'a Table) -> Vec<&'a str> {
    pairs(one, other).into_iter().filter(|(_, (one, other))| one != other).map(|(key, _)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_up_makes_no_difference() {
        let old =
            Fixed::of("[server]\nreload = true\nstate = \"a\"\n[secrets]\nk.env = \"K\"\n[plugins.a]\nsource = \"a\"");
        let same = "[server]\nstate = \"a\"\nreload = true\nwithdrawn = []\n[secrets.k]\nenv = \"K\"\n[agent.b]\nsource = \"b\"\n[sources.x]\n";
        assert!(old.differing(&Fixed::of(same)).is_empty());
        let other = "[server]\nstate = \"b\"\nhttp = \"[::1]:1\"\n[model]\nurl = \"x\"\n";
        let mut keys = old.differing(&Fixed::of(other));
        keys.sort();
        assert_eq!(keys, ["model.url", "secrets.k", "server.http", "server.reload", "server.state"]);
    }
}
