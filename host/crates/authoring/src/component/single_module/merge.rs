//! The merged module: the index spaces of all libraries, one after another.

use super::component::{Component, ImportOrigin, Linked};
use super::linking::Linking;
use super::outline::{FUNCTIONS, GLOBALS, MEMORIES, Outline, TABLES, imported_space};
use super::renumber::{Renumber, Result};
use anyhow::{Context, anyhow, bail, ensure};
use std::collections::{HashMap, HashSet};
use wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME;
use wasm_encoder::reencode::Reencode;
use wasm_encoder::{
    CodeSection, DataCountSection, DataSection, ElementSection, EntityType, ExportKind, ExportSection, Function,
    FunctionSection, GlobalSection, ImportSection, Instruction, MemorySection, MemoryType, Module, NameMap,
    NameSection, TableSection, TypeSection,
};
use wasmparser::{ElementKind, KnownCustom, Name, NameSectionReader, Parser, Payload, TypeRef};

/// The function that allocates memory for the component model, as modules name it.
const REALLOC: &str = "cabi_realloc";
/// The function that frees a function's results has the same name after this prefix.
const POST_RETURN: &str = "cabi_post_";

/// The adapter for WASI's first preview, and its function that forgets its state. A module that calls only this one needs no
/// adapter.
const ADAPTER: &str = WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME;
const RESET: &str = "reset_adapter_state";

/// The initial size of a memory is rounded up to a multiple of this many pages, or to its maximum. The image of the next build
/// is a little larger or smaller: if the size of its memory stays the same, the host uses the code that it has compiled for
/// this one.
const PAGES_STEP: u64 = 16;

fn rounded_up(memory: MemoryType) -> MemoryType {
    let minimum = memory.minimum.next_multiple_of(PAGES_STEP);
    MemoryType { minimum: memory.maximum.map_or(minimum, |most| minimum.min(most)), ..memory }
}

/// Merges the libraries. Functions that are never called become ones that trap. Of the functions that are lifted, `exported` is
/// kept.
pub(super) fn merge(
    component: &Component<'_>,
    linking: &Linking<'_>,
    exported: &HashSet<String>,
) -> anyhow::Result<Vec<u8>> {
    let outlines = component.libraries.iter().map(|library| Outline::read(library.bytes));
    let outlines: Vec<Outline<'_>> = outlines.collect::<anyhow::Result<_>>()?;
    let outside = outside(component, &outlines)?;
    let has_adapter = outside.iter().any(|one| one.module == ADAPTER && one.name != RESET);
    let is_stub =
        |one: &Outside<'_>| (linking.is_never_called)(one.module, one.name) || (one.module == ADAPTER && !has_adapter);
    let (stubs, imports) = outside.into_iter().partition(is_stub);
    let plan = Plan::new(component, &outlines, imports, stubs)?;
    let mut sections = Sections::default();
    for import in &plan.imports {
        let ty = EntityType::Function(plan.maps[import.library].types + import.ty);
        sections.imports.import(import.module, import.name, ty);
    }
    for (library, (map, outline)) in component.libraries.iter().zip(plan.maps.iter().zip(&outlines)) {
        let mut map = Renumber { constants: Some(&plan.constants), ..map.clone() };
        let imported = u32::try_from(map.spaces[FUNCTIONS].len())? - outline.own[FUNCTIONS];
        sections.append(library.bytes, &mut map, imported).map_err(|error| anyhow!("{error}"))?;
    }
    for stub in &plan.stubs {
        sections.functions.function(plan.maps[stub.library].types + stub.ty);
        let mut body = Function::new([]);
        if stub.name != RESET {
            body.instruction(&Instruction::Unreachable);
        }
        body.instruction(&Instruction::End);
        sections.code.function(&body);
    }
    for filler in &component.fillers {
        sections.fill(filler, &plan)?;
    }
    sections.exports.export("memory", ExportKind::Memory, 0);
    let named = component.lifted.iter().map(|origin| (None, origin));
    for (name, origin) in named.chain(component.realloc.iter().map(|origin| (Some(REALLOC), origin))) {
        let ImportOrigin::Library(place, own) = origin else { bail!("the component lifts what no module has") };
        let replaced = linking.replaced.iter().find(|(name, _)| name == own);
        let index = match replaced {
            Some((_, other)) => plan.function(other)?,
            None => plan.export(*place, own, FUNCTIONS)?,
        };
        let name = name.unwrap_or(own);
        let freed = name.strip_prefix(POST_RETURN);
        // The other function has left nothing that could be freed.
        let is_replaced = freed.is_some_and(|freed| linking.replaced.iter().any(|(name, _)| *name == freed));
        if name == REALLOC || !is_replaced && exported.contains(freed.unwrap_or(name)) {
            sections.exports.export(name, ExportKind::Func, index);
        }
    }
    Ok(sections.module())
}

/// A function that no library defines, with a library that imports it and the function's type there.
struct Outside<'a> {
    module: &'a str,
    name: &'a str,
    library: usize,
    ty: u32,
}

/// The functions that no library defines, each once.
fn outside<'a>(component: &Component<'a>, outlines: &[Outline<'a>]) -> anyhow::Result<Vec<Outside<'a>>> {
    let (mut functions, mut seen) = (Vec::new(), HashSet::new());
    for (place, (library, outline)) in component.libraries.iter().zip(outlines).enumerate() {
        for import in &outline.imports {
            let (module, name) = (import.module, import.name);
            if *library.origin(module, name)? == ImportOrigin::Component && seen.insert((module, name)) {
                let TypeRef::Func(ty) = import.ty else { bail!("nobody has {module} {name}, which is no function") };
                functions.push(Outside { module, name, library: place, ty });
            }
        }
    }
    Ok(functions)
}

/// The place of every item in the merged module.
struct Plan<'a> {
    outlines: &'a [Outline<'a>],
    imports: Vec<Outside<'a>>,
    /// Functions that are defined in place of imports.
    stubs: Vec<Outside<'a>>,
    /// The new indices of each library.
    maps: Vec<Renumber<'a>>,
    constants: HashMap<u32, i32>,
}

impl<'a> Plan<'a> {
    fn new(
        component: &Component<'a>,
        outlines: &'a [Outline<'a>],
        imports: Vec<Outside<'a>>,
        stubs: Vec<Outside<'a>>,
    ) -> anyhow::Result<Self> {
        let mut next = [u32::try_from(imports.len())?, 0, 0, 0];
        let own: u32 = outlines.iter().map(|outline| outline.own[FUNCTIONS]).sum();
        let place = |first, list: &[Outside<'a>]| -> Vec<_> {
            (first..).zip(list).map(|(index, one)| ((one.module, one.name), index)).collect()
        };
        let outside: HashMap<_, u32> =
            place(0, &imports).into_iter().chain(place(next[FUNCTIONS] + own, &stubs)).collect();
        let mut plan = Self { outlines, imports, stubs, maps: vec![], constants: HashMap::new() };
        let (mut types, mut data, mut elements) = (0, 0, 0);
        for (library, outline) in component.libraries.iter().zip(outlines) {
            let mut map = Renumber { types, data, elements, ..Renumber::default() };
            for import in &outline.imports {
                let (space, names) = (imported_space(import)?, (import.module, import.name));
                map.spaces[space].push(match library.origin(names.0, names.1)? {
                    ImportOrigin::Library(place, name) => Some(plan.export(*place, name, space)?),
                    ImportOrigin::Component => outside.get(&names).copied(),
                });
            }
            plan.constants.extend(outline.constants.iter().map(|(place, value)| (next[GLOBALS] + place, *value)));
            for ((indices, next), count) in map.spaces.iter_mut().zip(&mut next).zip(outline.own) {
                indices.extend((*next..*next + count).map(Some));
                *next += count;
            }
            (types, data, elements) = (types + outline.types, data + outline.data, elements + outline.elements);
            plan.maps.push(map);
        }
        ensure!(next[MEMORIES] == 1, "the modules have {} memories", next[MEMORIES]);
        Ok(plan)
    }

    /// The new index of the function that some library exports under this name.
    fn function(&self, name: &str) -> anyhow::Result<u32> {
        let place = self.outlines.iter().position(|outline| outline.export(name, FUNCTIONS).is_some());
        self.export(place.with_context(|| format!("no module has {name}"))?, name, FUNCTIONS)
    }

    /// The new index of a library's export.
    fn export(&self, place: usize, name: &str, space: usize) -> anyhow::Result<u32> {
        let own = self.outlines.get(place).and_then(|outline| outline.export(name, space));
        let index = own.and_then(|index| *self.maps.get(place)?.spaces[space].get(index)?);
        index.with_context(|| format!("{name} is needed before a module exports it"))
    }
}

#[derive(Default)]
struct Sections {
    types: TypeSection,
    imports: ImportSection,
    functions: FunctionSection,
    tables: TableSection,
    memories: MemorySection,
    globals: GlobalSection,
    exports: ExportSection,
    elements: ElementSection,
    code: CodeSection,
    data: DataSection,
    names: NameMap,
}

impl Sections {
    /// Appends a module, of whose functions `imported` are imports.
    fn append(&mut self, module: &[u8], map: &mut Renumber<'_>, imported: u32) -> Result<()> {
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::TypeSection(section) => map.parse_type_section(&mut self.types, section)?,
                Payload::FunctionSection(section) => map.parse_function_section(&mut self.functions, section)?,
                Payload::TableSection(section) => map.parse_table_section(&mut self.tables, section)?,
                Payload::MemorySection(section) => {
                    for memory in section {
                        self.memories.memory(rounded_up(map.memory_type(memory?)?));
                    }
                }
                Payload::GlobalSection(section) => map.parse_global_section(&mut self.globals, section)?,
                Payload::ElementSection(section) => map.parse_element_section(&mut self.elements, section)?,
                Payload::DataSection(section) => map.parse_data_section(&mut self.data, section)?,
                Payload::CodeSectionEntry(body) => map.parse_function_body(&mut self.code, body)?,
                Payload::CustomSection(custom) => {
                    if let KnownCustom::Name(names) = custom.as_known() {
                        self.name(names, map, imported)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Keeps the names of functions, which the backtrace of a trap shows.
    fn name(&mut self, names: NameSectionReader<'_>, map: &Renumber<'_>, imported: u32) -> Result<()> {
        for subsection in names {
            let Name::Function(functions) = subsection? else { continue };
            for function in functions {
                let function = function?;
                // An imported function gets its name from the module that defines it.
                if let (Some(index), true) = (map.item(FUNCTIONS, function.index), function.index >= imported) {
                    self.names.append(index, function.name);
                }
            }
        }
        Ok(())
    }

    /// Adds what a module puts into tables after all others have started.
    fn fill(&mut self, filler: &Linked<'_>, plan: &Plan<'_>) -> anyhow::Result<()> {
        let mut map = Renumber::default();
        for import in &Outline::read(filler.bytes)?.imports {
            let space = imported_space(import)?;
            map.spaces[space].push(match filler.origin(import.module, import.name)? {
                ImportOrigin::Library(place, name) => Some(plan.export(*place, name, space)?),
                ImportOrigin::Component => None,
            });
        }
        for payload in Parser::new(0).parse_all(filler.bytes) {
            let Payload::ElementSection(section) = payload? else { continue };
            for element in section {
                let element = element?;
                let ElementKind::Active { table_index, .. } = element.kind else { bail!("code fills a table") };
                // Tables of others are filled by the encoder.
                if map.item(TABLES, table_index.unwrap_or(0)).is_some() {
                    map.parse_element(&mut self.elements, element).map_err(|error| anyhow!("{error}"))?;
                }
            }
        }
        Ok(())
    }

    fn module(self) -> Vec<u8> {
        let (mut module, mut names) = (Module::new(), NameSection::new());
        names.functions(&self.names);
        module.section(&self.types).section(&self.imports).section(&self.functions).section(&self.tables);
        module.section(&self.memories).section(&self.globals).section(&self.exports).section(&self.elements);
        module.section(&DataCountSection { count: self.data.len() }).section(&self.code).section(&self.data);
        module.section(&names);
        module.finish()
    }
}
