//! One pass over the sections of a component: collects names and metadata, and enforces limits on the number of items.

use super::claims::Claims;
use super::core_module;
use super::error::{InspectError, printable};
use super::manifest::Manifest;
use wasmparser::{BinaryReaderError, Chunk, Encoding, FunctionBody, Parser, Payload};

/// The nesting depth of modules and components. Bounds recursion in later passes, and types that span all levels.
const MAX_DEPTH: u64 = 16;
/// Bytes of one function. Bounds compile time, which grows faster than the size of the function.
const MAX_FUNCTION: u64 = 2 << 20;
/// Locals of one function. Each may be live in each block, which costs compile time.
const MAX_LOCALS: u64 = 10_000;

/// The number of items of one kind, including nested modules and components. An item of a few bytes in the file becomes a
/// large structure or code when it is validated and compiled.
struct ItemCounter {
    what: &'static str,
    limit: u64,
    count: u64,
}

impl ItemCounter {
    const fn new(what: &'static str, limit: u64) -> Self {
        Self { what, limit, count: 0 }
    }

    fn add(&mut self, more: impl Into<u64>) -> Result<(), InspectError> {
        self.count = self.count.saturating_add(more.into());
        check_limit(self.what, self.count, self.limit)
    }
}

fn check_limit(what: &'static str, count: u64, limit: u64) -> Result<(), InspectError> {
    if count > limit {
        return Err(InspectError::TooMany { what, count, limit });
    }
    Ok(())
}

struct ItemCounters {
    nested: ItemCounter,
    functions: ItemCounter,
    /// Items of modules: types, imports, exports, globals, segments.
    items: ItemCounter,
    /// Items of components: types, instances, aliases, imports, exports.
    parts: ItemCounter,
    /// Lifted and lowered functions. Each compiles to an adapter that is not counted as a function.
    adapters: ItemCounter,
}

impl ItemCounters {
    fn new() -> Self {
        Self {
            nested: ItemCounter::new("nested modules and components", 256),
            functions: ItemCounter::new("functions", 200_000),
            items: ItemCounter::new("types, imports, exports, globals and segments", 300_000),
            parts: ItemCounter::new("component types, instances, aliases, imports and exports", 50_000),
            adapters: ItemCounter::new("adapters between components", 10_000),
        }
    }

    fn add(&mut self, payload: &Payload<'_>) -> Result<(), InspectError> {
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => self.nested.add(1u32),
            Payload::FunctionSection(section) => self.functions.add(section.count()),
            Payload::TypeSection(section) => self.items.add(section.count()),
            Payload::ImportSection(section) => self.items.add(section.count()),
            Payload::ExportSection(section) => self.items.add(section.count()),
            Payload::GlobalSection(section) => self.items.add(section.count()),
            Payload::TableSection(section) => self.items.add(section.count()),
            Payload::MemorySection(section) => self.items.add(section.count()),
            Payload::TagSection(section) => self.items.add(section.count()),
            Payload::ElementSection(section) => self.items.add(section.count()),
            Payload::DataSection(section) => self.items.add(section.count()),
            Payload::CoreTypeSection(section) => self.parts.add(section.count()),
            Payload::ComponentTypeSection(section) => self.parts.add(section.count()),
            Payload::InstanceSection(section) => self.parts.add(section.count()),
            Payload::ComponentInstanceSection(section) => self.parts.add(section.count()),
            Payload::ComponentAliasSection(section) => self.parts.add(section.count()),
            Payload::ComponentImportSection(section) => self.parts.add(section.count()),
            Payload::ComponentExportSection(section) => self.parts.add(section.count()),
            Payload::ComponentCanonicalSection(section) => self.adapters.add(section.count()),
            Payload::CodeSectionEntry(body) => check_function(body),
            _ => Ok(()),
        }
    }
}

fn check_function(body: &FunctionBody<'_>) -> Result<(), InspectError> {
    check_limit("bytes in one function", body.as_bytes().len() as u64, MAX_FUNCTION)?;
    let mut locals = 0u64;
    for declared in body.get_locals_reader().map_err(invalid)? {
        locals = locals.saturating_add(declared.map_err(invalid)?.0.into());
        check_limit("locals in one function", locals, MAX_LOCALS)?;
    }
    Ok(())
}

#[derive(Default)]
pub(super) struct Sections {
    pub(super) api: Option<String>,
    pub(super) manifest: Option<Vec<u8>>,
    pub(super) imports: Vec<String>,
    pub(super) exports: Vec<String>,
    pub(super) claims: Claims,
    /// The comments of the component's WIT.
    pub(super) docs: Option<Vec<u8>>,
}

/// The section that tools write the comments of a WIT package into.
const DOCS_SECTION: &str = "package-docs";
/// The largest section of this kind, in bytes. What a plugin may say of its tools is less.
const MAX_DOCS: usize = 1 << 20;

impl Sections {
    /// Adds a custom section, if it is one of ours.
    fn add_section(&mut self, name: &str, data: &[u8]) -> Result<(), InspectError> {
        match name {
            Manifest::SECTION if self.manifest.replace(data.to_vec()).is_some() => {
                Err(InspectError::Manifest("there are two of them".into()))
            }
            Manifest::API_SECTION => {
                let text = printable(&String::from_utf8_lossy(data));
                match self.api.replace(text.clone()) {
                    Some(other) if other != text => Err(InspectError::Manifest("it names two API versions".into())),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

/// Scans all sections, including nested ones: the sections of the SDK are in the core module inside the component.
pub(super) fn scan(bytes: &[u8]) -> Result<Sections, InspectError> {
    let (mut sections, mut counters) = (Sections::default(), ItemCounters::new());
    let mut outer: Vec<Parser> = Vec::new();
    let mut parser = Parser::new(0);
    let mut rest = bytes;
    loop {
        let (payload, consumed) = match parser.parse(rest, true).map_err(invalid)? {
            Chunk::Parsed { payload, consumed } => (payload, consumed),
            Chunk::NeedMoreData(_) => return Err(InspectError::Invalid("unexpected end of file".into())),
        };
        rest = &rest[consumed..];
        counters.add(&payload)?;
        match payload {
            Payload::Version { encoding: Encoding::Module, .. } if outer.is_empty() => {
                return Err(InspectError::CoreModule(core_module::advice(bytes)));
            }
            Payload::ModuleSection { parser: inner, .. } | Payload::ComponentSection { parser: inner, .. } => {
                outer.push(std::mem::replace(&mut parser, inner));
                check_limit("nested modules and components inside one another", outer.len() as u64, MAX_DEPTH)?;
            }
            Payload::ComponentImportSection(section) if outer.is_empty() => {
                for import in section {
                    sections.imports.push(import.map_err(invalid)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if outer.is_empty() => {
                for export in section {
                    sections.exports.push(export.map_err(invalid)?.name.name.to_owned());
                }
            }
            Payload::CustomSection(section) => {
                sections.claims.add_section(section.name(), section.data(), &section.as_known(), outer.is_empty());
                sections.add_section(section.name(), section.data())?;
                if outer.is_empty() && section.name() == DOCS_SECTION && section.data().len() <= MAX_DOCS {
                    sections.docs.get_or_insert_with(|| section.data().to_vec());
                }
            }
            Payload::End(_) => match outer.pop() {
                Some(next) => parser = next,
                None if rest.is_empty() => return Ok(sections),
                None => return Err(InspectError::Invalid("there are bytes after its end".into())),
            },
            _ => {}
        }
    }
}

fn invalid(error: BinaryReaderError) -> InspectError {
    InspectError::Invalid(error.to_string())
}
