//! What a module imports, exports and contains: read before anything is written.

use anyhow::bail;
use std::collections::HashMap;
use std::ops::Range;
use wasmparser::{Export, ExternalKind, Global, Import, Operator, Parser, Payload, TypeRef};

/// The index spaces in which items are linked.
pub(super) const FUNCTIONS: usize = 0;
pub(super) const TABLES: usize = 1;
pub(super) const MEMORIES: usize = 2;
pub(super) const GLOBALS: usize = 3;
pub(super) const SPACES: usize = 4;

#[derive(Default)]
pub(super) struct Outline<'a> {
    pub(super) types: u32,
    pub(super) imports: Vec<Import<'a>>,
    /// How many items of each space the module defines itself.
    pub(super) own: [u32; SPACES],
    pub(super) data: u32,
    pub(super) elements: u32,
    exports: HashMap<&'a str, (usize, u32)>,
    /// The globals that the module defines and that never change: their place among those that it defines, and their value.
    pub(super) constants: Vec<(u32, i32)>,
}

impl<'a> Outline<'a> {
    pub(super) fn read(module: &'a [u8]) -> anyhow::Result<Self> {
        let mut outline = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::TypeSection(groups) => {
                    for group in groups {
                        outline.types += u32::try_from(group?.types().len())?;
                    }
                }
                Payload::ImportSection(imports) => {
                    outline.imports = imports.into_imports().collect::<Result<_, _>>()?;
                }
                Payload::FunctionSection(section) => outline.own[FUNCTIONS] = section.count(),
                Payload::TableSection(section) => outline.own[TABLES] = section.count(),
                Payload::MemorySection(section) => outline.own[MEMORIES] = section.count(),
                Payload::GlobalSection(section) => {
                    outline.own[GLOBALS] = section.count();
                    for (place, global) in (0..).zip(section) {
                        outline.constants.extend(constant(&global?)?.map(|value| (place, value)));
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        let Export { name, kind, index } = export?;
                        outline.exports.insert(name, (space(kind)?, index));
                    }
                }
                Payload::ElementSection(section) => outline.elements = section.count(),
                Payload::DataSection(section) => outline.data = section.count(),
                Payload::StartSection { .. } => bail!("a module runs code when it starts"),
                Payload::TagSection(_) => bail!("a module has exceptions"),
                _ => {}
            }
        }
        Ok(outline)
    }

    /// The index of an export, within the module.
    pub(super) fn export(&self, name: &str, space: usize) -> Option<usize> {
        let (found, index) = self.exports.get(name)?;
        (*found == space).then(|| usize::try_from(*index).ok())?
    }
}

fn constant(global: &Global<'_>) -> anyhow::Result<Option<i32>> {
    let mut operators = global.init_expr.get_operators_reader();
    Ok(match (global.ty.mutable, operators.read()?, operators.read()?) {
        (false, Operator::I32Const { value }, Operator::End) => Some(value),
        _ => None,
    })
}

pub(super) fn space(kind: ExternalKind) -> anyhow::Result<usize> {
    Ok(match kind {
        ExternalKind::Func | ExternalKind::FuncExact => FUNCTIONS,
        ExternalKind::Table => TABLES,
        ExternalKind::Memory => MEMORIES,
        ExternalKind::Global => GLOBALS,
        ExternalKind::Tag => bail!("a module shares exceptions"),
    })
}

pub(super) fn imported_space(import: &Import<'_>) -> anyhow::Result<usize> {
    space(match import.ty {
        TypeRef::Func(_) | TypeRef::FuncExact(_) => ExternalKind::Func,
        TypeRef::Table(_) => ExternalKind::Table,
        TypeRef::Memory(_) => ExternalKind::Memory,
        TypeRef::Global(_) => ExternalKind::Global,
        TypeRef::Tag(_) => ExternalKind::Tag,
    })
}

pub(super) fn imports(module: &[u8]) -> anyhow::Result<Vec<(&str, &str)>> {
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::ImportSection(section) = payload? {
            let names = section.into_imports().map(|import| import.map(|import| (import.module, import.name)));
            return Ok(names.collect::<Result<_, _>>()?);
        }
    }
    Ok(vec![])
}

pub(super) fn exports(module: &[u8]) -> anyhow::Result<Vec<Export<'_>>> {
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::ExportSection(section) = payload? {
            return Ok(section.into_iter().collect::<Result<_, _>>()?);
        }
    }
    Ok(vec![])
}

pub(super) fn range(range: &Range<u64>) -> anyhow::Result<Range<usize>> {
    Ok(usize::try_from(range.start)?..usize::try_from(range.end)?)
}
