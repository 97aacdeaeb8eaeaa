//! Holds the table that says which top-level module of a crate may name which others of the same crate.

use crate::hold;
use crate::rules::{CRATES, MODULES};
use std::collections::BTreeSet;
use std::fs;
use suite::imports::{Import, imports};
use suite::paths::root;

const TABLE: &str = "MODULES in tests/tidy/rules.rs";

/// A crate's source: its top-level modules and the imports between its files.
struct Source {
    name: String,
    /// The folder of its source, below the repository.
    folder: String,
    modules: BTreeSet<String>,
    imports: Vec<Import>,
}

impl Source {
    fn read(name: &str) -> Self {
        let folder = match name {
            "portcullis" => "host/src".to_owned(),
            name => format!("host/crates/{name}/src"),
        };
        let path = root().join(&folder);
        let entries = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut modules: BTreeSet<_> = entries.map(|entry| module_of(&entry).to_owned()).collect();
        modules.retain(|module| module != "lib" && module != "main");
        Self { name: name.to_owned(), folder, modules, imports: imports(&path.join("lib.rs")) }
    }
}

/// The top-level module of a file.
fn module_of(file: &str) -> &str {
    file.split(['/', '.']).next().unwrap_or(file)
}

/// The differences between the table and the crates.
fn broken(table: &[(&str, &str)], crates: &[Source]) -> Vec<String> {
    let (mut broken, mut known, mut named) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for Source { name, folder, modules, imports } in crates {
        for module in modules {
            let module = format!("{name}/{module}");
            let rows = table.iter().filter(|(row, _)| *row == module).count();
            if rows != 1 {
                broken.push(format!("`{module}` has {rows} rows in {TABLE}; it needs one"));
            }
            known.insert(module);
        }
        for Import { from, to, name: item, line } in imports {
            let (own, other) = (module_of(from), module_of(to));
            if own == other || own == "lib" {
                continue;
            }
            let own = format!("{name}/{own}");
            let mut rows = table.iter().filter(|(row, _)| *row == own);
            if !rows.any(|(_, allowed)| allowed.split(' ').any(|allowed| allowed == other)) {
                broken.push(format!(
                    "{folder}/{from}:{line} names `{item}` of `{other}`, which the row `{own}` of {TABLE} does not allow"
                ));
            }
            named.insert((own, other));
        }
    }
    for (row, allowed) in table {
        if !known.contains(*row) {
            broken.push(format!("there is no module `{row}`: take its row out of {TABLE}"));
        }
        let unused = allowed.split_whitespace().filter(|other| !named.contains(&((*row).to_owned(), *other)));
        broken.extend(unused.map(|other| format!("`{row}` does not name `{other}`: take it out of {TABLE}")));
    }
    broken
}

#[test]
fn modules_name_only_those_that_the_table_allows() {
    let crates: Vec<_> =
        CRATES.iter().map(|(name, _)| Source::read(name)).chain([Source::read("portcullis")]).collect();
    hold("A top-level module names only the modules of its crate that the table allows:", &broken(MODULES, &crates));
}

#[test]
fn the_check_of_modules_detects_violations() {
    let import = |from: &str, to: &str, line| {
        let [from, to, name] = [from, to, "Item"].map(str::to_owned);
        Import { from, to, name, line }
    };
    let crates = [Source {
        name: "shop".to_owned(),
        folder: "shop/src".to_owned(),
        modules: ["clock", "store", "till"].map(str::to_owned).into(),
        imports: vec![
            import("lib.rs", "till.rs", 1),
            import("store/disk.rs", "store.rs", 2),
            import("store/disk.rs", "clock.rs", 3),
            import("till.rs", "store/disk.rs", 4),
        ],
    }];
    let found = |table: &[(&str, &str)]| broken(table, &crates).join("; ").replace(TABLE, "TABLE");
    let [clock, store, till] = [("shop/clock", ""), ("shop/store", "clock"), ("shop/till", "store")];
    assert_eq!(found(&[clock, store, till]), "");
    assert_eq!(
        found(&[clock, ("shop/store", ""), till]),
        "shop/src/store/disk.rs:3 names `Item` of `clock`, which the row `shop/store` of TABLE does not allow"
    );
    for unused in ["clock", "vault"] {
        let row = format!("store {unused}");
        let expected = format!("`shop/till` does not name `{unused}`: take it out of TABLE");
        assert_eq!(found(&[clock, store, ("shop/till", &row)]), expected);
    }
    assert_eq!(found(&[store, till]), "`shop/clock` has 0 rows in TABLE; it needs one");
    assert_eq!(found(&[clock, store, till, clock]), "`shop/clock` has 2 rows in TABLE; it needs one");
    for unknown in ["shop/vault", "bank/clock", "clock"] {
        let expected = format!("there is no module `{unknown}`: take its row out of TABLE");
        assert_eq!(found(&[clock, store, till, (unknown, "")]), expected);
    }
}
