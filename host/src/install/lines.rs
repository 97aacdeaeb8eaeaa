//! Grants as lines of TOML, such as `env = ["TZ"]`: one added to another.

use crate::policy::Grants;
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
    let plain = |value: &Value| value.to_string().trim().to_owned();
    for value in more {
        if !known.iter().any(|there| plain(there) == plain(value)) {
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
}
