//! Finds import cycles between the files and folders of a crate. A module's file `x.rs` belongs to the folder `x`, like
//! `x/mod.rs`.

use crate::imports::{Import, imports};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Entries of one folder that form an import cycle, with the imports of the cycle.
#[derive(Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The folder, below the crate's `src`.
    pub folder: String,
    /// The entries of the cycle: files and folders.
    pub entries: Vec<String>,
    /// The imports between these entries, from file to file.
    pub imports: Vec<String>,
}

/// All import cycles of the crate whose root module is this file.
pub fn cycles(root: &Path) -> Vec<Cycle> {
    let base = root.with_file_name("");
    let edges: Vec<Import> = imports(root)
        .into_iter()
        .map(|import| Import { from: place(&base, import.from), to: place(&base, import.to), ..import })
        .collect();
    let folders: BTreeSet<&str> = edges.iter().map(|Import { from, to, .. }| common(from, to)).collect();
    folders.into_iter().flat_map(|folder| in_folder(folder, &edges)).collect()
}

/// A file's place: `x.rs` of a folder `x` counts as `x/mod.rs`.
fn place(base: &Path, file: String) -> String {
    match file.strip_suffix(".rs") {
        Some(own) if base.join(own).is_dir() => format!("{own}/mod.rs"),
        _ => file,
    }
}

/// The deepest common folder of two files.
fn common<'a>(from: &'a str, to: &str) -> &'a str {
    let shared =
        from.split('/').zip(to.split('/')).take_while(|(a, b)| a == b).map(|(a, _)| a.len() + 1).sum::<usize>();
    from[..shared].trim_end_matches('/')
}

/// The cycles among the entries of one folder.
fn in_folder(folder: &str, edges: &[Import]) -> Vec<Cycle> {
    let entry = |file: &str| {
        let below = if folder.is_empty() { file } else { file.strip_prefix(folder)?.strip_prefix('/')? };
        below.split('/').next().map(str::to_owned)
    };
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for Import { from, to, .. } in edges {
        if let (Some(from), Some(to)) = (entry(from), entry(to))
            && from != to
        {
            graph.entry(from).or_default().insert(to);
        }
    }
    let reach = |start: &str| {
        let (mut seen, mut queue) = (BTreeSet::new(), vec![start.to_owned()]);
        while let Some(at) = queue.pop() {
            for next in graph.get(&at).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    queue.push(next.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&String, BTreeSet<String>> = graph.keys().map(|from| (from, reach(from))).collect();
    let mut rings: BTreeSet<Vec<String>> = BTreeSet::new();
    for (from, to) in &reached {
        if to.contains(*from) {
            let back = |other: &&String| reached.get(other).is_some_and(|reached| reached.contains(*from));
            rings.insert(to.iter().filter(back).cloned().collect());
        }
    }
    let ties = |ring: &[String]| {
        let among = |from: &str, to: &str| match (entry(from), entry(to)) {
            (Some(from), Some(to)) => from != to && ring.contains(&from) && ring.contains(&to),
            _ => false,
        };
        let found = edges.iter().filter(|Import { from, to, .. }| among(from, to));
        found.map(|Import { from, to, name, line }| format!("{from}:{line} -> {to}: {name}")).collect::<Vec<_>>()
    };
    rings.into_iter().map(|ring| Cycle { folder: folder.to_owned(), imports: ties(&ring), entries: ring }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imports::written;

    fn cycles_in(files: &[(&str, &str)]) -> Vec<Cycle> {
        let folder = written(files);
        cycles(&folder.path().join("lib.rs"))
    }

    #[test]
    fn files_that_import_each_other_are_a_cycle() {
        let found = cycles_in(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "pub struct B; fn f(a: super::a::A) {}"),
        ]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].entries, ["a.rs", "b.rs"]);
        assert_eq!(found[0].imports, ["a.rs:1 -> b.rs: B", "b.rs:1 -> a.rs: A"]);
    }

    #[test]
    fn a_child_and_its_parent_can_be_a_cycle() {
        let parent = "mod child; use child::Child; pub struct Parent(Child);";
        let files = |child: &'static str| [("lib.rs", "mod x;"), ("x.rs", parent), ("x/child.rs", child)];
        assert_eq!(cycles_in(&files("pub struct Child;")), []);
        let found = cycles_in(&files("use super::Parent; pub struct Child; fn f(_: Parent) {}"));
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].folder.as_str(), found[0].entries.as_slice()),
            ("x", &["child.rs".to_owned(), "mod.rs".to_owned()][..])
        );
    }

    #[test]
    fn folders_can_form_a_cycle_when_their_files_do_not() {
        let found = cycles_in(&[
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "pub mod one; pub mod two;"),
            ("a/one.rs", "use crate::b::three::Three; pub struct One;"),
            ("a/two.rs", "pub struct Two;"),
            ("b/mod.rs", "pub mod three; pub mod four;"),
            ("b/three.rs", "pub struct Three;"),
            ("b/four.rs", "use crate::a::two::Two; pub struct Four;"),
        ]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].entries, ["a", "b"]);
    }
}
