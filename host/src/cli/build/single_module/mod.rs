//! Makes one module of a component's dynamic libraries. The tools for interpreters leave them to be linked whenever an instance
//! starts, thousands of entries of tables each time; a single module has its table ready.

mod component;
mod merge;
mod outline;
mod renumber;

use super::{passive_segments, records_as_tuples};
use anyhow::{Context, bail};
use std::collections::HashSet;
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::{ComponentEncoder, DecodedWasm, StringEncoding, decode, embed_component_metadata};
use wit_parser::{Resolve, WorldId, WorldItem};

/// The same component with one module. `is_never_called` says, of the function of an interface, that the component need not import it: a
/// call of it traps.
pub(super) fn link(bytes: &[u8], is_never_called: impl Fn(&str, &str) -> bool) -> anyhow::Result<Vec<u8>> {
    let inner = component::innermost(bytes)?;
    let DecodedWasm::Component(mut resolve, world) = decode(inner)? else { bail!("these are types, not a component") };
    let component = component::read(inner)?;
    let merged = merge::merge(&component, is_never_called, &exported(&resolve, world))?;
    let mut module = passive_segments::remove(&merged)?;
    records_as_tuples::restore(&mut resolve)?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    ComponentEncoder::default()
        .validate(true)
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
    use wasmparser::{Operator, Parser, Payload, TypeRef};

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

    fn is_missing(interface: &str, function: &str) -> bool {
        (interface, function) == ("test:missing/files", "load")
    }

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
        let linked = link(&wat::parse_str(LIBRARIES).unwrap(), is_missing).unwrap();
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
            format!("{:#}", link(&changed, is_missing).unwrap_err())
        };
        assert!(refused("(data (i32.const 8) \"main\")", "(func $f) (start $f)").contains("runs code when it starts"));
        assert!(
            refused("(memory (export \"memory\") 1)", "(memory (export \"memory\") 1) (memory 1)")
                .contains("2 memories")
        );
        let twice = "(core instance (instantiate $main)) (core instance $s";
        assert!(refused("(core instance $s", twice).contains("several instances"));
        let module = wat::parse_str("(module)").unwrap();
        assert!(link(&module, is_missing).is_err());
        assert!(
            format!("{:#}", link(&wat::parse_str("(component)").unwrap(), is_missing).unwrap_err())
                .contains("without modules")
        );
    }
}
