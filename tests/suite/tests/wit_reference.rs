//! The pages of `wit/reference` are what the WIT says. `PORTCULLIS_WRITE_WIT_REFERENCE=1` writes them anew.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use wit_parser::{
    Docs, Function, Interface, InterfaceId, Resolve, Type, TypeDef, TypeDefKind, TypeId, TypeOwner, WorldItem,
};

#[test]
fn the_reference_of_the_wit_is_what_the_wit_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut wit = Resolve::default();
    let (package, _) = wit.push_dir(root.join("wit/v0.1")).unwrap();
    let mut pages: Vec<(String, String)> = Vec::new();
    for (name, id) in &wit.packages[package].interfaces {
        pages.push((format!("{name}.md"), Page { wit: &wit, of: *id }.text()));
    }
    pages.sort();
    assert!(pages.len() >= 17 && pages.iter().any(|(_, text)| text.contains("[denial](types.md#denial)")));
    pages.push(("README.md".to_owned(), index(&wit, &pages)));
    let folder = root.join("wit/reference");
    if std::env::var_os("PORTCULLIS_WRITE_WIT_REFERENCE").is_some() {
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir_all(&folder).unwrap();
        pages.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
    }
    for (name, text) in &pages {
        let written = fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert_eq!(&written, text, "wit/reference/{name} is out of date");
    }
    let files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), pages.len(), "pages of interfaces that are gone: {files:?}");
}

/// The table of all interfaces, and of the worlds.
fn index(wit: &Resolve, pages: &[(String, String)]) -> String {
    let mut text = String::from(
        "# Reference of the WIT\n\nMade from the doc comments of [v0.1](../v0.1) by a test of the suite, which fails when they differ.\n\n\
         | interface | |\n|---|---|\n",
    );
    for (file, page) in pages {
        let (name, about) = (file.trim_end_matches(".md"), page.split("\n\n").nth(1).unwrap_or_default());
        let about = one_line(about);
        let sentence = about.split_once(". ").map_or(about.as_str(), |(first, _)| first).trim_end_matches('.');
        writeln!(text, "| [{name}]({file}) | {sentence} |").unwrap();
    }
    for (_, world) in &wit.worlds {
        write!(text, "\n## World `{}`\n\n{}\n\n", world.name, paragraph(&world.docs)).unwrap();
        for (what, items) in [("imports", &world.imports), ("exports", &world.exports)] {
            let names = items.values().filter_map(|item| match item {
                WorldItem::Interface { id, .. } => wit.interfaces[*id].name.as_deref(),
                _ => None,
            });
            let links: Vec<String> = names.map(|name| format!("[{name}]({name}.md)")).collect();
            writeln!(text, "- {what}: {}", links.join(", ")).unwrap();
        }
    }
    text
}

struct Page<'a> {
    wit: &'a Resolve,
    of: InterfaceId,
}

impl Page<'_> {
    fn text(&self) -> String {
        let Interface { name, docs, functions, types, .. } = &self.wit.interfaces[self.of];
        let mut text = format!("# {}\n\n{}\n", name.as_deref().unwrap_or_default(), paragraph(docs));
        let own = || types.iter().filter(|(_, id)| !self.is_used(**id));
        if !functions.is_empty() {
            text.push_str("\n## Functions\n");
            functions.values().for_each(|function| text.push_str(&self.function(function)));
        }
        if own().next().is_some() {
            text.push_str("\n## Types\n");
            own().for_each(|(name, id)| text.push_str(&self.type_of(name, &self.wit.types[*id])));
        }
        text
    }

    /// Whether a type is another interface's, and only its name is here.
    fn is_used(&self, id: TypeId) -> bool {
        matches!(self.wit.types[id].kind, TypeDefKind::Type(Type::Id(other)) if self.wit.types[other].owner != TypeOwner::Interface(self.of))
    }

    fn function(&self, function: &Function) -> String {
        let mut text = format!("\n### {}\n\n", function.name);
        if !function.docs.is_empty() {
            write!(text, "{}\n\n", paragraph(&function.docs)).unwrap();
        }
        let mut rows: Vec<(String, String, &Docs)> = Vec::new();
        let none = Docs::default();
        rows.extend(function.params.iter().map(|one| (format!("`{}`", one.name), self.name(&one.ty), &none)));
        rows.extend(function.result.iter().map(|result| ("returns".to_owned(), self.name(result), &none)));
        text + &table(&rows)
    }

    fn type_of(&self, name: &str, def: &TypeDef) -> String {
        let kind = match &def.kind {
            TypeDefKind::Type(other) => self.name(other),
            kind => format!("A {}.", kind.as_str()).replace("A enum", "An enum"),
        };
        let mut text = format!("\n### {name}\n\n{kind} {}", paragraph(&def.docs)).trim_end().to_owned() + "\n\n";
        let named = |name: &str| format!("`{name}`");
        let rows: Vec<(String, String, &Docs)> = match &def.kind {
            TypeDefKind::Record(record) => {
                record.fields.iter().map(|one| (named(&one.name), self.name(&one.ty), &one.docs)).collect()
            }
            TypeDefKind::Variant(variant) => {
                let of = |ty: &Option<Type>| ty.as_ref().map(|ty| self.name(ty)).unwrap_or_default();
                variant.cases.iter().map(|one| (named(&one.name), of(&one.ty), &one.docs)).collect()
            }
            TypeDefKind::Enum(cases) => {
                cases.cases.iter().map(|one| (named(&one.name), String::new(), &one.docs)).collect()
            }
            TypeDefKind::Flags(flags) => {
                flags.flags.iter().map(|one| (named(&one.name), String::new(), &one.docs)).collect()
            }
            TypeDefKind::Type(_) => Vec::new(),
            // So that a new kind of type in the WIT gets a page that says all of it.
            other => panic!("{name} is a {}", other.as_str()),
        };
        text.push_str(&table(&rows));
        text.trim_end().to_owned() + "\n"
    }

    /// A type as in the WIT, with links to the types that have names.
    fn name(&self, ty: &Type) -> String {
        let Type::Id(id) = ty else {
            return format!("{ty:?}").to_lowercase();
        };
        let def = &self.wit.types[*id];
        if let Some(name) = &def.name {
            let owner = match (&def.kind, def.owner) {
                (TypeDefKind::Type(Type::Id(other)), _) if self.is_used(*id) => self.wit.types[*other].owner,
                (_, owner) => owner,
            };
            return match owner {
                TypeOwner::Interface(other) if other != self.of => {
                    format!("[{name}]({}.md#{name})", self.wit.interfaces[other].name.as_deref().unwrap_or_default())
                }
                _ => format!("[{name}](#{name})"),
            };
        }
        let inner = |parts: &[&Type]| parts.iter().map(|part| self.name(part)).collect::<Vec<_>>().join(", ");
        match &def.kind {
            TypeDefKind::Option(some) => format!("option\\<{}\\>", inner(&[some])),
            TypeDefKind::List(item) => format!("list\\<{}\\>", inner(&[item])),
            TypeDefKind::Tuple(tuple) => format!("tuple\\<{}\\>", inner(&tuple.types.iter().collect::<Vec<_>>())),
            TypeDefKind::Result(result) => {
                let part = |ty: &Option<Type>| ty.as_ref().map_or_else(|| "_".to_owned(), |ty| self.name(ty));
                format!("result\\<{}, {}\\>", part(&result.ok), part(&result.err))
            }
            other => panic!("a type without a name is a {}", other.as_str()),
        }
    }
}

fn table(rows: &[(String, String, &Docs)]) -> String {
    let mut text = String::new();
    if !rows.is_empty() {
        text.push_str("| | | |\n|---|---|---|\n");
    }
    for (name, of, docs) in rows {
        let about = one_line(docs.contents.as_deref().unwrap_or_default()).replace('|', "\\|");
        writeln!(text, "| {name} | {of} | {about} |").unwrap();
    }
    text
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn paragraph(docs: &Docs) -> String {
    docs.contents.as_deref().unwrap_or_default().trim().to_owned()
}
