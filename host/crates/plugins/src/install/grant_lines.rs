//! Grants as lines of TOML, such as `env = ["TZ"]`: adding, listing and intersecting them.

use policy::{Extent, Grants};
use toml_edit::{Array, DocumentMut, Item, Table, Value};

/// Adds a line to a table of grants. Lists are extended, tables are merged, other values are replaced. On an error nothing
/// changes.
pub fn add(grants: &mut Table, line: &str) -> Result<(), String> {
    let fail = |error: String| format!("`{line}` is not a grant: {}", error.trim_end());
    let document: DocumentMut = line.parse().map_err(|error: toml_edit::TomlError| fail(error.to_string()))?;
    let mut added = grants.clone();
    merge(&mut added, document.as_table().clone());
    // The same checks as for the configuration: unknown keys and invalid patterns are errors.
    toml::from_str::<Grants>(&document.to_string()).map_err(|error| fail(error.to_string()))?;
    toml::from_str::<Grants>(&added.to_string()).map_err(|error| fail(error.to_string()))?;
    *grants = added;
    Ok(())
}

/// Splits a table of grants into lines with one grant each. Lists become one line per element.
pub fn list(grants: &Table) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, item) in grants {
        match item {
            Item::Value(Value::Array(list)) => lines.extend(list.iter().map(|element| list_line(key, element.clone()))),
            Item::ArrayOfTables(tables) => {
                lines.extend(
                    tables.iter().map(|table| list_line(key, Value::InlineTable(table.clone().into_inline_table()))),
                );
            }
            // `client` contains several grants, every other key is one.
            item if key == "client" => {
                let inner = item.clone().into_table().unwrap_or_default();
                lines.extend(list(&inner).into_iter().map(|line| format!("{key}.{line}")));
            }
            item => lines.extend(item.clone().into_value().ok().map(|value| format!("{key} = {}", plain(value)))),
        }
    }
    lines
}

/// The grants that both tables give. Where one is narrower, its line is taken. If all of `current` is within `other`, it is
/// returned unchanged.
pub fn intersect(current: &Table, other: &Table) -> Result<Table, String> {
    let parse = |text: &str| toml::from_str::<Grants>(text).map_err(|error| error.to_string());
    let (current_grants, other_grants) = (parse(&current.to_string())?, parse(&other.to_string())?);
    if current_grants.is_within(&other_grants) {
        return Ok(current.clone());
    }
    let mut both = Table::new();
    for (lines, bound) in [(list(current), &other_grants), (list(other), &current_grants)] {
        for line in lines {
            let grant = parse(&line)?;
            if grant.is_within(bound) && !grant.is_within(&parse(&both.to_string())?) {
                add(&mut both, &line)?;
            }
        }
    }
    Ok(both)
}

fn list_line(key: &str, element: Value) -> String {
    format!("{key} = [{}]", plain(element))
}

/// The text without surrounding comments and spaces.
fn plain(mut value: Value) -> String {
    value.decor_mut().clear();
    value.to_string()
}

fn merge(into: &mut Table, from: Table) {
    for (key, item) in from {
        match (into.get_mut(&key), item) {
            (Some(Item::Value(Value::Array(list))), Item::Value(Value::Array(more))) => extend(list, &more),
            (Some(Item::Table(table)), Item::Table(more)) => merge(table, more),
            // `client.form` beside `client = { url = [...] }`.
            (Some(existing), item) if existing.is_table_like() && item.is_table_like() => {
                let (Ok(mut table), Ok(more)) = (existing.clone().into_table(), item.into_table()) else { continue };
                merge(&mut table, more);
                table.set_dotted(true);
                *existing = Item::Table(table);
            }
            (_, item) => {
                into.insert(&key, item);
            }
        }
    }
}

fn extend(list: &mut Array, more: &Array) {
    for value in more {
        if !list.iter().any(|existing| plain(existing.clone()) == plain(value.clone())) {
            let mut value = value.clone();
            value.decor_mut().clear();
            list.push(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(lines: &[&str]) -> Result<(String, Grants), String> {
        let mut table = Table::new();
        for line in lines {
            add(&mut table, line)?;
        }
        let text = table.to_string();
        let grants = toml::from_str(&text).unwrap();
        Ok((text, grants))
    }

    #[test]
    fn lists_are_extended_and_tables_are_merged() {
        let (text, grants) = added(&[
            r#"http = [{ allow = "https://a.example/" }]"#,
            "client.form = true",
            r#"http = [{ allow = "https://b.example/", body = "1.5 MiB" }]"#,
            r#"client.url = ["a.example"]"#,
            r#"client = { roots = true }"#,
            r#"env = ["TZ"]"#,
            r#"env = ["TZ", "LANG"]"#,
            "state = {}",
        ])
        .unwrap();
        assert_eq!((grants.http.len(), grants.env.len(), grants.client.url.len()), (2, 2, 1), "{text}");
        assert!(grants.client.form && grants.client.roots && grants.state.is_some(), "{text}");
        assert!(text.contains("1.5 MiB"), "units stay as they were written: {text}");
    }

    #[test]
    fn invalid_grants_are_refused() {
        for wrong in [
            "network = true",
            "http = [\"https://a.example/\"]",
            "env",
            "env = \"TZ\"",
            "[http]",
            "http = [{ allow = \"https://10.0.0.0/8\" }]",
        ] {
            let error = added(&["env = [\"TZ\"]", wrong]).unwrap_err();
            assert!(error.contains("is not a grant"), "{error}");
        }
    }

    fn table(text: &str) -> Table {
        text.parse::<DocumentMut>().unwrap().into_table()
    }

    #[test]
    fn a_table_equals_the_sum_of_its_lines() {
        let text = r#"
            env = ["TZ", # where
                   "LANG"]
            client = { form = true, url = ["a.example", "b.example"] }
            state = {}
            [[http]]
            allow = "https://a.example/""#;
        let lines = list(&table(text));
        assert_eq!(
            lines,
            [
                "env = [\"TZ\"]",
                "env = [\"LANG\"]",
                "client.form = true",
                "client.url = [\"a.example\"]",
                "client.url = [\"b.example\"]",
                "state = {}",
                "http = [{ allow = \"https://a.example/\" }]",
            ]
        );
        let again = added(&lines.iter().map(String::as_str).collect::<Vec<_>>()).unwrap().1;
        assert_eq!(again, toml::from_str(text).unwrap());
    }

    #[test]
    fn the_intersection_takes_the_narrower_grant() {
        let all = "# mine\nenv = [\"TZ\"]\nstate = { keys = 5 }\n";
        assert_eq!(intersect(&table(all), &table(all)).unwrap().to_string(), all);
        assert!(intersect(&table(all), &Table::new()).unwrap().is_empty());
        assert!(intersect(&Table::new(), &table(all)).unwrap().is_empty());
        let now = r#"
            env = ["TZ", "LANG"]
            state = { keys = 9 }
            client = { form = true, roots = true }
            http = [{ allow = "https://a.example/v1/" }, { allow = "https://b.example/" }]
            filesystem = [{ host = "/a", guest = "/a", access = "write" }]"#;
        let then = r#"
            env = ["LANG", "LC_ALL"]
            state = { keys = 5 }
            client.roots = true
            http = [{ allow = "https://a.example/" }]
            filesystem = [{ host = "/a", guest = "/a", access = "read" }]"#;
        let lines = list(&intersect(&table(now), &table(then)).unwrap());
        assert_eq!(
            lines,
            [
                "env = [\"LANG\"]",
                "client.roots = true",
                "http = [{ allow = \"https://a.example/v1/\" }]",
                "state = { keys = 5 }",
                "filesystem = [{ host = \"/a\", guest = \"/a\", access = \"read\" }]",
            ]
        );
    }

    #[test]
    fn every_proposed_line_is_a_valid_grant() {
        let all = r#"
            filesystem = "read"
            agent-tools = ["notes.*"]
            client = { form = true, url = true, sample = true, roots = true }
            publish = true
            events = ["a.*"]
            connections = ["github"]
            http = ["GET,POST https://a.example/v1/", "https://*.b.example"]
            secrets = ["key"]
            env = ["TZ"]
            state = true
            scratch = true"#;
        let requests: policy::Requests = toml::from_str(all).unwrap();
        let lines = requests.proposals(&requests);
        assert_eq!(lines.len(), requests.described().len());
        let mut table = Table::new();
        for proposal in &lines {
            let chosen =
                if proposal.choose == Some(policy::Choice::Directory) { "/it's \"here\"" } else { "a.example" };
            add(&mut table, &proposal.with_choice(chosen, "/srv")).unwrap();
        }
        let grants = toml::from_str(&table.to_string()).unwrap();
        let plugin = policy::PluginId { side: policy::Side::Server, name: "p".into() };
        assert!(policy::Authority::new(plugin, &requests, &grants).unrequested_grants().is_empty());
        let secret = lines.iter().find(|it| it.capability.key == "secrets").unwrap();
        assert_eq!(secret.line, r#"secrets = [{ name = "key", hosts = ["a.example", "*.b.example"] }]"#);
        let chosen: Vec<_> = lines.iter().filter(|it| it.choose.is_some()).map(|it| it.capability.key).collect();
        assert_eq!(chosen, ["filesystem", "client.url"]);
        let page = lines.iter().find(|it| it.capability.key == "client.url").unwrap();
        assert_eq!(page.suggested.as_deref(), Some("a.example"));
    }
}
