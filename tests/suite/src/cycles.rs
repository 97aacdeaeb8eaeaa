//! Finds import cycles between the files and folders of a crate, by parsing its source.
//!
//! An import is any path to an item of the same crate: in a `use`, or in code. A path goes to the file that defines the
//! item, through re-exports. A re-export is no import, and what is under `#[cfg(test)]` does not count. A module's file
//! `x.rs` belongs to the folder `x`, like `x/mod.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::Visit;

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
    let mut source = Crate::default();
    source.read(root, Vec::new(), &root.with_file_name(""));
    let base = root.with_file_name("");
    let edges: BTreeSet<(String, String, String)> = source
        .imports()
        .into_iter()
        .map(|(from, to, name)| (place(&base, &from), place(&base, &to), name))
        .filter(|(from, to, _)| from != to)
        .collect();
    let folders: BTreeSet<&str> = edges.iter().flat_map(|(from, to, _)| common(from, to)).collect();
    folders.into_iter().flat_map(|folder| in_folder(folder, &edges)).collect()
}

/// A file's path below the crate's source folder; `x.rs` of a folder `x` is shown as `x/mod.rs`.
fn place(base: &Path, file: &Path) -> String {
    let own = file.with_extension("");
    let file = if own.is_dir() { own.join("mod.rs") } else { file.to_owned() };
    file.strip_prefix(base).unwrap_or(&file).display().to_string()
}

/// The deepest common folder of two files.
fn common<'a>(from: &'a str, to: &str) -> Option<&'a str> {
    let shared =
        from.split('/').zip(to.split('/')).take_while(|(a, b)| a == b).map(|(a, _)| a.len() + 1).sum::<usize>();
    Some(from[..shared].trim_end_matches('/'))
}

/// The cycles among the entries of one folder.
fn in_folder(folder: &str, edges: &BTreeSet<(String, String, String)>) -> Vec<Cycle> {
    let entry = |file: &str| {
        let below = if folder.is_empty() { file } else { file.strip_prefix(folder)?.strip_prefix('/')? };
        below.split('/').next().map(str::to_owned)
    };
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, to, _) in edges {
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
        let found = edges.iter().filter(|(from, to, _)| among(from, to));
        found.map(|(from, to, name)| format!("{from} -> {to}: {name}")).collect::<Vec<_>>()
    };
    rings.into_iter().map(|ring| Cycle { folder: folder.to_owned(), imports: ties(&ring), entries: ring }).collect()
}

/// One module: its file, its items, and its imports.
#[derive(Default)]
struct Module {
    file: PathBuf,
    items: BTreeSet<String>,
    /// Names that `use` imports, with their paths; `*` for all names of a module.
    uses: Vec<(String, Vec<String>)>,
    /// Every path in code or in a private `use`.
    paths: BTreeSet<Vec<String>>,
}

/// Modules by their path from the root.
#[derive(Default)]
struct Crate(BTreeMap<Vec<String>, Module>);

impl Crate {
    /// Reads a module's file and the files of its children, which lie in `folder`.
    fn read(&mut self, file: &Path, path: Vec<String>, folder: &Path) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.add(&parsed.items, file, path, folder);
    }

    fn add(&mut self, items: &[syn::Item], file: &Path, path: Vec<String>, folder: &Path) {
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        for item in items.iter().filter(|item| !is_test(item)) {
            match item {
                syn::Item::Mod(child) => {
                    let (name, mut below) = (child.ident.to_string(), path.clone());
                    below.push(name.clone());
                    let inner = folder.join(&name);
                    match &child.content {
                        Some((_, items)) => self.add(items, file, below, &inner),
                        None => {
                            let beside = folder.join(format!("{name}.rs"));
                            let file = if beside.exists() { beside } else { inner.join("mod.rs") };
                            self.read(&file, below, &inner);
                        }
                    }
                }
                syn::Item::Use(item) => {
                    let public = !matches!(item.vis, syn::Visibility::Inherited);
                    let mut found = Vec::new();
                    flatten(&item.tree, &mut Vec::new(), &mut found);
                    for (name, target) in found {
                        if !public {
                            module.paths.insert(target.clone());
                        }
                        module.uses.push((name, target));
                    }
                }
                _ => {
                    module.items.extend(name(item));
                    let mut paths = Paths(&mut module.paths);
                    paths.visit_item(item);
                }
            }
        }
        self.0.insert(path, module);
    }

    /// The imports from file to file, with the imported name.
    fn imports(&self) -> Vec<(PathBuf, PathBuf, String)> {
        let mut found = Vec::new();
        for (at, module) in &self.0 {
            for path in &module.paths {
                if let Some((file, name)) = self.resolve(at, path, 0) {
                    found.push((module.file.clone(), file, name));
                }
            }
        }
        found
    }

    /// The file that defines what a path in a module names, if it is an item of this crate.
    fn resolve(&self, at: &[String], path: &[String], depth: usize) -> Option<(PathBuf, String)> {
        if depth > 16 {
            return None;
        }
        let mut here = at.to_vec();
        for (i, segment) in path.iter().enumerate() {
            match segment.as_str() {
                "crate" => here.clear(),
                "self" => {}
                "super" => drop(here.pop()?),
                name => {
                    let mut child = here.clone();
                    child.push(name.to_owned());
                    if self.0.contains_key(&child) {
                        here = child;
                        continue;
                    }
                    let module = self.0.get(&here)?;
                    if module.items.contains(name) {
                        return Some((module.file.clone(), name.to_owned()));
                    }
                    let rest = &path[i + 1..];
                    let named = module.uses.iter().filter(|(known, _)| known == name);
                    let all = module.uses.iter().filter(|(known, _)| known == "*");
                    for (known, target) in named.chain(all) {
                        let mut target = target.clone();
                        if known == "*" {
                            target.push(name.to_owned());
                        }
                        if target == path && here == at {
                            continue;
                        }
                        target.extend(rest.iter().cloned());
                        if let Some(found) = self.resolve(&here, &target, depth + 1) {
                            return Some(found);
                        }
                    }
                    return None;
                }
            }
        }
        None
    }
}

fn is_test(item: &syn::Item) -> bool {
    let attributes = match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        _ => return false,
    };
    let test = |attribute: &syn::Attribute| {
        attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "test")
    };
    attributes.iter().any(test)
}

fn name(item: &syn::Item) -> Option<String> {
    Some(match item {
        syn::Item::Const(item) => item.ident.to_string(),
        syn::Item::Enum(item) => item.ident.to_string(),
        syn::Item::Fn(item) => item.sig.ident.to_string(),
        syn::Item::Static(item) => item.ident.to_string(),
        syn::Item::Struct(item) => item.ident.to_string(),
        syn::Item::Trait(item) => item.ident.to_string(),
        syn::Item::Type(item) => item.ident.to_string(),
        syn::Item::Union(item) => item.ident.to_string(),
        _ => return None,
    })
}

/// The names that a `use` imports, each with its path.
fn flatten(tree: &syn::UseTree, before: &mut Vec<String>, found: &mut Vec<(String, Vec<String>)>) {
    match tree {
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, found);
            before.pop();
        }
        syn::UseTree::Name(name) if name.ident == "self" => {
            found.push((before.last().cloned().unwrap_or_default(), before.clone()));
        }
        syn::UseTree::Name(name) => {
            found.push((name.ident.to_string(), [&before[..], &[name.ident.to_string()]].concat()));
        }
        syn::UseTree::Rename(name) => {
            found.push((name.rename.to_string(), [&before[..], &[name.ident.to_string()]].concat()));
        }
        syn::UseTree::Glob(_) => found.push(("*".to_owned(), before.clone())),
        syn::UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, before, found);
            }
        }
    }
}

/// Collects the paths in code.
struct Paths<'a>(&'a mut BTreeSet<Vec<String>>);

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() && path.segments.len() > 1 {
            self.0.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut found = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut found);
        self.0.extend(found.into_iter().map(|(_, path)| path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles_in(files: &[(&str, &str)]) -> Vec<Cycle> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("can be made");
            fs::write(path, text).expect("can be written");
        }
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
        assert_eq!(found[0].imports, ["a.rs -> b.rs: B", "b.rs -> a.rs: A"]);
    }

    #[test]
    fn a_reexport_is_no_import_and_resolves_to_the_defining_file() {
        let found = cycles_in(&[
            ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
            ("a.rs", "pub struct A;"),
            ("b.rs", "use crate::A; pub struct B;"),
        ]);
        assert_eq!(found, []);
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

    #[test]
    fn test_modules_do_not_count() {
        let found = cycles_in(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }"),
        ]);
        assert_eq!(found, []);
    }
}
