//! The imports between the files of a crate, found by parsing its source.
//!
//! An import is any path to an item of the same crate: in a `use`, in code, or in the arguments of a macro. A path goes to
//! the file that defines the item, through re-exports. That a module re-exports what lies below it is no import. What is
//! under `#[cfg(test)]` does not count, except a module of the root that has a file of its own.

mod syntax;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::Visit;
use syntax::{Paths, add_path, flatten, words};

/// One file names an item of another. Files are paths below the crate's source folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Import {
    /// The file that has the path.
    pub from: String,
    /// The file that defines the item.
    pub to: String,
    /// The item.
    pub name: String,
    /// The first line of `from` that names it.
    pub line: usize,
}

/// All imports of the crate whose root module is this file, each name once for two files.
pub fn imports(root: &Path) -> Vec<Import> {
    let mut source = Crate::default();
    let base = root.with_file_name("");
    source.read(root, Vec::new(), &base);
    let shown = |file: &Path| file.strip_prefix(&base).unwrap_or(file).display().to_string();
    let mut found = BTreeMap::new();
    for (at, module) in &source.0 {
        for (path, line) in &module.paths {
            let Some((file, name)) = source.resolve(at, path, 0) else { continue };
            if file != module.file {
                let first = found.entry((shown(&module.file), shown(&file), name)).or_insert(*line);
                *first = *line.min(first);
            }
        }
    }
    found.into_iter().map(|((from, to, name), line)| Import { from, to, name, line }).collect()
}

/// One module: its file, its items, and its imports.
#[derive(Default)]
struct Module {
    file: PathBuf,
    items: BTreeSet<String>,
    /// Names that `use` imports, with their paths; `*` for all names of a module.
    uses: Vec<(String, Vec<String>)>,
    /// Every path that may be an import, with the first line that has it.
    paths: BTreeMap<Vec<String>, usize>,
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
        let counts = |item: &&syn::Item| {
            let own_file = path.is_empty() && matches!(item, syn::Item::Mod(child) if child.content.is_none());
            own_file || !is_test(item)
        };
        for item in items.iter().filter(counts) {
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
                        if !public || target.first().is_some_and(|first| first == "crate" || first == "super") {
                            add_path(&mut module.paths, &target);
                        }
                        module.uses.push((name, words(&target)));
                    }
                }
                _ => {
                    module.items.extend(name(item));
                    Paths { paths: &mut module.paths, uses: &mut module.uses }.visit_item(item);
                }
            }
        }
        self.0.insert(path, module);
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

/// A crate of these files, for tests.
#[cfg(test)]
pub(crate) fn written(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("can be made");
        fs::write(path, text).expect("can be written");
    }
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The imports of a crate whose root has the modules `a` and `b`, written as `from:line -> to: name`.
    fn between(root: &str, a: &str, b: &str) -> Vec<String> {
        let folder = written(&[("lib.rs", root), ("a.rs", a), ("b.rs", b)]);
        let found = imports(&folder.path().join("lib.rs")).into_iter();
        found.map(|Import { from, to, name, line }| format!("{from}:{line} -> {to}: {name}")).collect()
    }

    #[test]
    fn an_import_has_the_first_line_that_names_the_item() {
        let a = "use crate::b::{B, f};\nfn g() { super::b::h();\ncrate::b::h(); }";
        let found = between("mod a; mod b;", a, "pub struct B; pub fn f() {} pub fn h() {}");
        assert_eq!(found, ["a.rs:1 -> b.rs: B", "a.rs:1 -> b.rs: f", "a.rs:2 -> b.rs: h"]);
    }

    #[test]
    fn a_reexport_from_below_is_no_import_and_resolves_to_the_defining_file() {
        let found =
            between("mod a; mod b; pub use a::A; pub use b::B;", "pub struct A;", "use crate::A; pub struct B;");
        assert_eq!(found, ["b.rs:1 -> a.rs: A"]);
        let found = between("mod a; mod b;", "pub use crate::b::B;", "pub struct B;");
        assert_eq!(found, ["a.rs:1 -> b.rs: B"], "unless it lies elsewhere");
    }

    #[test]
    fn items_behind_a_glob_or_a_module_are_imported_where_they_are_used() {
        let found = between("mod a; mod b;", "use crate::b::*;\nfn f(_: B) {}", "pub struct B;");
        assert_eq!(found, ["a.rs:2 -> b.rs: B"]);
        let found = between("mod a; mod b;", "fn f() { use crate::b;\nb::g(); }", "pub fn g() {}");
        assert_eq!(found, ["a.rs:2 -> b.rs: g"]);
    }

    #[test]
    fn arguments_of_macros_count() {
        let a = "use super::b;\nfn f() { format!(\"{}\", crate::b::g(1)); select! { x = b::h() => x } }";
        let found = between("mod a; mod b;", a, "pub fn g() {} pub fn h() {}");
        assert_eq!(found, ["a.rs:2 -> b.rs: g", "a.rs:2 -> b.rs: h"]);
    }

    #[test]
    fn tests_count_only_as_a_file_of_the_root() {
        let inner = "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }";
        assert_eq!(between("mod a; mod b;", "pub struct A;", inner), [""; 0]);
        let found = between("mod a; #[cfg(test)] mod b;", "pub struct A;", "use crate::a::A;");
        assert_eq!(found, ["b.rs:1 -> a.rs: A"]);
    }
}
