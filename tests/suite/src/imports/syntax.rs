//! The paths that a file has: in its `use` items, in its code, and in the arguments of macros.

use proc_macro2::{Ident, TokenStream, TokenTree};
use std::collections::BTreeMap;
use syn::visit::Visit;

/// The names that a `use` imports, each with its path.
pub(super) fn flatten(tree: &syn::UseTree, before: &mut Vec<Ident>, found: &mut Vec<(String, Vec<Ident>)>) {
    let full = |last: &Ident| [&before[..], std::slice::from_ref(last)].concat();
    match tree {
        syn::UseTree::Path(path) => {
            before.push(path.ident.clone());
            flatten(&path.tree, before, found);
            before.pop();
        }
        syn::UseTree::Name(name) if name.ident == "self" => {
            found.push((before.last().map(Ident::to_string).unwrap_or_default(), before.clone()));
        }
        syn::UseTree::Name(name) => found.push((name.ident.to_string(), full(&name.ident))),
        syn::UseTree::Rename(name) => found.push((name.rename.to_string(), full(&name.ident))),
        syn::UseTree::Glob(_) => found.push(("*".to_owned(), before.clone())),
        syn::UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, before, found);
            }
        }
    }
}

pub(super) fn words(path: &[Ident]) -> Vec<String> {
    path.iter().map(Ident::to_string).collect()
}

pub(super) fn add_path(paths: &mut BTreeMap<Vec<String>, usize>, path: &[Ident]) {
    if let Some(last) = path.last() {
        paths.entry(words(path)).or_insert(last.span().start().line);
    }
}

/// Collects the paths in code, and the names that a `use` inside a function imports.
pub(super) struct Paths<'a> {
    pub(super) paths: &'a mut BTreeMap<Vec<String>, usize>,
    pub(super) uses: &'a mut Vec<(String, Vec<String>)>,
}

impl Paths<'_> {
    /// The paths among tokens, which may be anything that a macro understands.
    fn in_tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut colons) = (Vec::new(), 0);
        for tree in tokens {
            match tree {
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        add_path(self.paths, &std::mem::take(&mut path));
                    }
                    path.push(ident);
                    colons = 0;
                }
                other => {
                    add_path(self.paths, &std::mem::take(&mut path));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.in_tokens(group.stream());
                    }
                }
            }
        }
        add_path(self.paths, &path);
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let path: Vec<_> = path.segments.iter().map(|segment| segment.ident.clone()).collect();
            add_path(self.paths, &path);
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.in_tokens(call.tokens.clone());
        syn::visit::visit_macro(self, call);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut found = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut found);
        for (name, path) in found {
            add_path(self.paths, &path);
            self.uses.push((name, words(&path)));
        }
    }
}
