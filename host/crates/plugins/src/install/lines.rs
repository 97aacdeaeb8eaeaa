//! Grants as lines of TOML, such as `env = ["TZ"]`: one added to another.

use policy::Grants;
use toml_edit::{Array, DocumentMut, Item, Table, Value};

/// Adds a line to a table of grants: what is a list grows, what is a table is filled, anything else is replaced. The
/// error is a sentence, and nothing is changed then.
pub fn add(grants: &mut Table, line: &str) -> Result<(), String> {
    let fail = |error: String| format!("`{line}` is not a grant: {}", error.trim_end());
    let document: DocumentMut = line.parse().map_err(|error: toml_edit::TomlError| fail(error.to_string()))?;
    let mut added = grants.clone();
    merge(&mut added, document.as_table().clone());
    // Checked as the configuration is: unknown keys and patterns are errors.
    toml::from_str::<Grants>(&document.to_string()).map_err(|error| fail(error.to_string()))?;
    toml::from_str::<Grants>(&added.to_string()).map_err(|error| fail(error.to_string()))?;
    *grants = added;
    Ok(())
}

/// Each thing that is granted, as a line of its own: what stands in a list by itself.
pub fn each(grants: &Table) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, item) in grants {
        match item {
            Item::Value(Value::Array(list)) => lines.extend(list.iter().map(|one| listed(key, one.clone()))),
            Item::ArrayOfTables(tables) => {
                lines.extend(tables.iter().map(|one| listed(key, Value::InlineTable(one.clone().into_inline_table()))));
            }
            // `client` holds four things, the others are one.
            item if key == "client" => {
                let inner = item.clone().into_table().unwrap_or_default();
                lines.extend(each(&inner).into_iter().map(|line| format!("{key}.{line}")));
            }
            item => lines.extend(item.clone().into_value().ok().map(|value| format!("{key} = {}", plain(value)))),
        }
    }
    lines
}

/// What both of two tables give, in the words of the one that gives less; as in the first where it is all that.
pub fn shared(these: &Table, others: &Table) -> Result<Table, String> {
    let read = |text: &str| toml::from_str::<Grants>(text).map_err(|error| error.to_string());
    let (now, before) = (read(&these.to_string())?, read(&others.to_string())?);
    if now.within(&before) {
        return Ok(these.clone());
    }
    let mut both = Table::new();
    for (lines, other) in [(each(these), &before), (each(others), &now)] {
        for line in lines {
            let one = read(&line)?;
            if one.within(other) && !one.within(&read(&both.to_string())?) {
                add(&mut both, &line)?;
            }
        }
    }
    Ok(both)
}

fn listed(key: &str, one: Value) -> String {
    format!("{key} = [{}]", plain(one))
}

/// Without comments and spaces around it.
fn plain(mut value: Value) -> String {
    value.decor_mut().clear();
    value.to_string()
}

fn merge(into: &mut Table, from: Table) {
    for (key, item) in from {
        match (into.get_mut(&key), item) {
            (Some(Item::Value(Value::Array(known))), Item::Value(Value::Array(more))) => extend(known, &more),
            (Some(Item::Table(known)), Item::Table(more)) => merge(known, more),
            // `client.form` beside `client = { url = [...] }`.
            (Some(known), item) if known.is_table_like() && item.is_table_like() => {
                let (Ok(mut table), Ok(more)) = (known.clone().into_table(), item.into_table()) else { continue };
                merge(&mut table, more);
                table.set_dotted(true);
                *known = Item::Table(table);
            }
            (_, item) => {
                into.insert(&key, item);
            }
        }
    }
}

fn extend(known: &mut Array, more: &Array) {
    for value in more {
        if !known.iter().any(|there| plain(there.clone()) == plain(value.clone())) {
            let mut value = value.clone();
            value.decor_mut().clear();
            known.push(value);
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
    fn lists_grow_and_tables_are_filled() {
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
    fn what_is_no_grant_is_refused() {
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
    fn a_table_is_its_lines() {
        let text = r#"
            env = ["TZ", # where
                   "LANG"]
            client = { form = true, url = ["a.example", "b.example"] }
            state = {}
            [[http]]
            allow = "https://a.example/""#;
        let lines = each(&table(text));
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
    fn what_both_give_is_the_lesser_of_the_two() {
        let all = "# mine\nenv = [\"TZ\"]\nstate = { keys = 5 }\n";
        assert_eq!(shared(&table(all), &table(all)).unwrap().to_string(), all);
        assert!(shared(&table(all), &Table::new()).unwrap().is_empty());
        assert!(shared(&Table::new(), &table(all)).unwrap().is_empty());
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
        let lines = each(&shared(&table(now), &table(then)).unwrap());
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
}
