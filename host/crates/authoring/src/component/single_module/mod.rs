//! Merges a component's dynamic libraries into one module. The tools for interpreters leave them to be linked whenever an
//! instance starts, with thousands of table entries each time; a single module has its table ready.

mod component;
mod linking;
mod merge;
mod outline;
mod renumber;

pub(crate) use linking::Linking;

use crate::component::{passive_segments, records_as_tuples};
use anyhow::{Context, bail};
use std::collections::{HashMap, HashSet};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::{ComponentEncoder, DecodedWasm, StringEncoding, decode, embed_component_metadata};
use wit_parser::{Resolve, WorldId, WorldItem};

/// The same component with one module.
pub(crate) fn link(bytes: &[u8], linking: &Linking<'_>) -> anyhow::Result<Vec<u8>> {
    let inner = component::innermost(bytes)?;
    let DecodedWasm::Component(mut resolve, world) = decode(inner)? else { bail!("these are types, not a component") };
    let names: HashMap<_, _> =
        resolve.worlds[world].exports.keys().map(|key| (key.clone(), resolve.name_world_key(key))).collect();
    resolve.worlds[world].exports.retain(|key, _| (linking.is_exported)(&names[key]));
    let component = component::read(inner)?;
    let merged = merge::merge(&component, linking, &exported(&resolve, world))?;
    let mut module = passive_segments::remove(&merged)?;
    records_as_tuples::restore(&mut resolve)?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    ComponentEncoder::default()
        .module(&module)?
        .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)?
        .encode()
        .context("the linked module does not fit its world")
}

/// The functions that a world exports, as modules name them.
fn exported(resolve: &Resolve, world: WorldId) -> HashSet<String> {
    let mut names = HashSet::new();
    for (key, item) in &resolve.worlds[world].exports {
        let name = resolve.name_world_key(key);
        match item {
            WorldItem::Interface { id, .. } => {
                names.extend(resolve.interfaces[*id].functions.keys().map(|function| format!("{name}#{function}")));
            }
            WorldItem::Function(_) => drop(names.insert(name)),
            WorldItem::Type { .. } => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmparser::{ExternalKind, Operator, Parser, Payload, TypeRef};

    /// What linkers of dynamic libraries make, in small: `$main` has memory and table, `$low` and `$high` are libraries, of which the
    /// second calls the first directly and through the table, and the filler enters a function after both are there. The adapter is
    /// only told to forget its state.
    const LIBRARIES: &str = r#"(component
        (import "test:missing/files" (instance $files (export "load" (func (result u32)))))
        (core module $main
            (table (export "table") 3 funcref) (memory (export "memory") 1)
            (global (export "base") i32 (i32.const 1)) (global (export "top") (mut i32) (i32.const 40))
            (data (i32.const 8) "main"))
        (core module $low
            (import "env" "memory" (memory 1)) (import "env" "table" (table 2 funcref)) (import "env" "base" (global $base i32))
            (type $answer (func (result i32)))
            (elem (global.get $base) func $two)
            (data (global.get $base) "low")
            (func $two (result i32) i32.const 2)
            (func (export "realloc") (param i32 i32 i32 i32) (result i32) unreachable)
            (func (export "through") (result i32) (call_indirect (type $answer) (global.get $base))))
        (core module $high
            (import "env" "top" (global $top (mut i32))) (import "env" "through" (func $through (result i32)))
            (import "test:missing/files" "load" (func $load (result i32)))
            (import "wasi_snapshot_preview1" "reset_adapter_state" (func $reset))
            (func $last (export "last") (result i32) (call $load))
            (func (export "run") (result i32) (call $reset) (i32.add (global.get $top) (call $through))))
        (core module $adapter
            (import "__main_module__" "realloc" (func (param i32 i32 i32 i32) (result i32)))
            (func (export "reset_adapter_state")))
        (core module $filler
            (import "x" "table" (table 3 funcref)) (import "x" "$imports" (table 1 funcref)) (import "x" "last" (func $last (result i32)))
            (elem (table 0) (i32.const 2) func $last) (elem (table 1) (i32.const 0) func $last))
        (core module $shim (table (export "$imports") 1 funcref))
        (core instance $s (instantiate $shim))
        (core instance $m (instantiate $main))
        (core instance $l (instantiate $low (with "env" (instance $m))))
        (core func $load (canon lower (func $files "load")))
        (core instance $files (export "load" (func $load)))
        (alias core export $m "top" (core global $top))
        (alias core export $l "through" (core func $through))
        (core instance $env (export "top" (global $top)) (export "through" (func $through)))
        (core instance $a (instantiate $adapter (with "__main_module__" (instance $l))))
        (core instance $h (instantiate $high (with "env" (instance $env)) (with "test:missing/files" (instance $files))
            (with "wasi_snapshot_preview1" (instance $a))))
        (alias core export $m "table" (core table $table))
        (alias core export $s "$imports" (core table $indirect))
        (alias core export $h "last" (core func $last))
        (core instance $x (export "table" (table $table)) (export "$imports" (table $indirect)) (export "last" (func $last)))
        (core instance (instantiate $filler (with "x" (instance $x))))
        (func (export "run") (result u32)
            (canon lift (core func $h "run") (memory $m "memory") (realloc (func $l "realloc")))))"#;

    const LINKING: Linking<'_> = Linking {
        is_never_called: &|interface, function| (interface, function) == ("test:missing/files", "load"),
        ..Linking::WHOLE
    };

    fn modules(component: &[u8]) -> Vec<Vec<u8>> {
        let payloads = Parser::new(0).parse_all(component).map(Result::unwrap);
        let ranges = payloads.filter_map(|payload| match payload {
            Payload::ModuleSection { unchecked_range, .. } => Some(unchecked_range),
            _ => None,
        });
        ranges.map(|range| component[range.start as usize..range.end as usize].to_vec()).collect()
    }

    #[test]
    fn libraries_become_one_module() {
        let linked = link(&wat::parse_str(LIBRARIES).unwrap(), &LINKING).unwrap();
        let modules = modules(&linked);
        assert_eq!(modules.len(), 1, "what fills tables, and what it fills, is not needed");
        let (mut functions, mut elements, mut data, mut imports, mut stubs) = (0, vec![], vec![], vec![], vec![]);
        for payload in Parser::new(0).parse_all(&modules[0]) {
            match payload.unwrap() {
                Payload::ImportSection(section) => {
                    imports.extend(section.into_imports().map(|import| import.unwrap().ty));
                }
                Payload::FunctionSection(section) => functions = section.count(),
                Payload::CodeSectionEntry(body) => {
                    let mut operators = body.get_operators_reader().unwrap();
                    stubs.push(matches!(operators.read().unwrap(), Operator::End | Operator::Unreachable));
                }
                Payload::ElementSection(section) => {
                    elements.extend(section.into_iter().map(|element| match element.unwrap().kind {
                        wasmparser::ElementKind::Active { offset_expr, .. } => constant(&offset_expr),
                        _ => panic!("a table is filled by code"),
                    }));
                }
                Payload::DataSection(section) => {
                    data.extend(section.into_iter().map(|data| match data.unwrap().kind {
                        wasmparser::DataKind::Active { offset_expr, .. } => constant(&offset_expr),
                        wasmparser::DataKind::Passive => panic!("passive"),
                    }));
                }
                _ => {}
            }
        }
        assert_eq!(imports, [] as [TypeRef; 0], "the missing function is one that traps, and no adapter is needed");
        assert_eq!(functions, 7, "those of both libraries, the trap, and one that does nothing");
        assert_eq!(stubs[5..], [true, true], "both are at the end");
        assert_eq!(
            (elements, data),
            (vec![1, 2], vec![8, 1]),
            "places are known: the table is ready when an instance starts"
        );
    }

    /// The functions that a module exports, with their places.
    fn exported_functions(module: &[u8]) -> HashMap<String, u32> {
        let payloads = Parser::new(0).parse_all(module).map(Result::unwrap);
        let sections = payloads.filter_map(|payload| match payload {
            Payload::ExportSection(section) => Some(section),
            _ => None,
        });
        let exports = sections.flatten().map(Result::unwrap);
        exports.filter(|one| one.kind == ExternalKind::Func).map(|one| (one.name.to_owned(), one.index)).collect()
    }

    #[test]
    fn what_is_not_exported_is_left_out() {
        let run = "(func (export \"run\") (result i32)";
        let lifted = "(func (export \"run\") (result u32)";
        let two = LIBRARIES.replace(run, &format!("(func (export \"other\") (result i32) i32.const 5) {run}")).replace(
            lifted,
            &format!("(func (export \"other\") (result u32) (canon lift (core func $h \"other\"))) {lifted}"),
        );
        let names = |linking: &Linking<'_>| -> Vec<String> {
            let linked = link(&wat::parse_str(&two).unwrap(), linking).unwrap();
            let mut names: Vec<_> = exported_functions(&modules(&linked)[0]).into_keys().collect();
            names.sort();
            names
        };
        assert_eq!(names(&LINKING), ["cabi_realloc", "other", "run"]);
        assert_eq!(names(&Linking { is_exported: &|name| name == "run", ..LINKING }), ["cabi_realloc", "run"]);
    }

    #[test]
    fn another_function_takes_the_place_of_an_exported_one() {
        // What frees its results is given, too.
        let run = "(func (export \"run\") (result i32)";
        let freed = LIBRARIES.replace(run, &format!("(func (export \"cabi_post_run\") (param i32)) {run}")).replace(
            "(realloc (func $l \"realloc\"))",
            "(realloc (func $l \"realloc\")) (post-return (func $h \"cabi_post_run\"))",
        );
        let linked = |replaced| link(&wat::parse_str(&freed).unwrap(), &Linking { replaced, ..LINKING });
        let exports = |linked: &[u8]| exported_functions(&modules(linked)[0]);
        let plain = exports(&linked(&[]).unwrap());
        assert_eq!((plain["run"], plain["cabi_post_run"]), (5, 4), "both are of $high");
        let replaced = exports(&linked(&[("run", "through")]).unwrap());
        assert_eq!(replaced["run"], 2, "the third one of $low");
        assert!(!replaced.contains_key("cabi_post_run"), "it would free what the other has not made");
        assert_eq!(linked(&[("run", "walk")]).unwrap_err().to_string(), "no module has walk");
    }

    fn constant(expression: &wasmparser::ConstExpr<'_>) -> i32 {
        match expression.get_operators_reader().read().unwrap() {
            Operator::I32Const { value } => value,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_linked_is_named() {
        let refused = |from: &str, to: &str| {
            assert!(LIBRARIES.contains(from), "{from}");
            let changed = wat::parse_str(LIBRARIES.replacen(from, to, 1)).unwrap();
            format!("{:#}", link(&changed, &LINKING).unwrap_err())
        };
        assert!(refused("(data (i32.const 8) \"main\")", "(func $f) (start $f)").contains("runs code when it starts"));
        assert!(
            refused("(memory (export \"memory\") 1)", "(memory (export \"memory\") 1) (memory 1)")
                .contains("2 memories")
        );
        let twice = "(core instance (instantiate $main)) (core instance $s";
        assert!(refused("(core instance $s", twice).contains("several instances"));
        let module = wat::parse_str("(module)").unwrap();
        assert!(link(&module, &LINKING).is_err());
        assert!(
            format!("{:#}", link(&wat::parse_str("(component)").unwrap(), &LINKING).unwrap_err())
                .contains("without modules")
        );
    }
}
