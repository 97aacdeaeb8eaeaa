//! Libraries of others inside of plugins: what `tests/libraries` says of them, and what comes of it in the sandbox. `cargo xtask` has built the components.

mod data;
mod web;
mod world;

pub use data::{Library, read};
pub use web::answer;
pub use world::World;

use data::Called;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What became of a library when it was built.
#[derive(Deserialize)]
struct Entry {
    library: String,
    version: Option<String>,
    component: Option<PathBuf>,
    error: Option<String>,
}

/// Prints the table of a language; whether everything is as the data says. `index` is what `cargo xtask libraries` has built.
#[allow(clippy::print_stdout, reason = "for programs that people run at a terminal; no MCP wire here")]
pub fn report(language: &str, index: &Path) -> bool {
    let text = std::fs::read_to_string(index).unwrap_or_else(|error| panic!("{}: {error}", index.display()));
    let entries: Vec<Entry> = serde_json::from_str(&text).expect("an index of libraries");
    let known = read(language);
    let known = |name: &str| known.iter().find(|one| one.name == name).unwrap_or_else(|| panic!("{name} is not known"));
    let mut components: BTreeMap<&Path, Vec<&Library>> = BTreeMap::new();
    for entry in &entries {
        if let Some(component) = &entry.component {
            components.entry(component).or_default().push(known(&entry.library));
        }
    }
    let mut outcomes = BTreeMap::new();
    for (component, libraries) in components {
        let mut world = World::new(component, &libraries);
        for library in libraries {
            outcomes.insert(&library.name, used(&mut world, library));
        }
    }
    println!("| library | version | what it did | works | |\n|---|---|---|---|---|");
    let (mut wrong, mut works, mut pure) = (Vec::new(), 0, 0);
    let mut sorted: Vec<_> = entries.iter().map(|entry| (known(&entry.library), entry)).collect();
    sorted.sort_by_key(|(library, _)| (library.fails.is_some(), library.name.to_lowercase()));
    for (library, entry) in sorted {
        let outcome = match outcomes.remove(&library.name) {
            Some(outcome) => outcome,
            None => Err(entry.error.clone().unwrap_or_else(|| "it was not built".into())),
        };
        pure += usize::from(!library.compiled);
        let row = match library.judge(outcome) {
            Ok(row) => row,
            Err(why) => {
                eprintln!("{}: {why}", library.name);
                wrong.push(&library.name);
                format!("no | {} |", one_line(&why))
            }
        };
        works += usize::from(row.starts_with("yes") && !library.compiled);
        let version = entry.version.as_deref().unwrap_or_default();
        // Empty cells have one space.
        println!("{}", format!("| `{}` | {version} | {} | {row}", library.name, library.does).replace("|  |", "| |"));
    }
    println!("\nOf {pure} libraries without compiled code, {works} work.");
    wrong.is_empty()
}

fn used(world: &mut World, library: &Library) -> Result<Called, String> {
    let called = world.use_library(&library.name);
    if called.is_error() {
        return Err(called.text());
    }
    let value = serde_json::from_str(&called.text()).map_err(|error| format!("its answer is not JSON: {error}"))?;
    Ok(Called { value, fuel: called.usage()["fuel"].as_u64().unwrap_or_default() })
}

/// The first line that says what is wrong, for a table.
fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(120).collect::<String>().replace('|', "\\|")
}
