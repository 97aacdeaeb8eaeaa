//! One pass over a component's sections before anything believes them: what it names, and how much there is of it.

use super::claims::Claims;
use super::inspect::{Refusal, printable};
use super::manifest::Manifest;
use wasmparser::{BinaryReaderError, Chunk, Encoding, FunctionBody, Parser, Payload};

/// How deep modules and components lie in one another. Bounds recursion of whoever follows them, and types that reach
/// through all of them.
const MAX_DEPTH: u64 = 16;
/// Bytes of one function. Bounds compile time, which grows faster than a function does.
const MAX_FUNCTION: u64 = 2 << 20;
/// Locals of one function. Each may be alive in each of its blocks.
const MAX_LOCALS: u64 = 10_000;

/// How much there is of what, in all nested ones together. An item of a few bytes in the file is a structure with names
/// and types for whoever validates and compiles it, or a piece of code.
struct Count {
    what: &'static str,
    limit: u64,
    found: u64,
}

impl Count {
    const fn of(what: &'static str, limit: u64) -> Self {
        Self { what, limit, found: 0 }
    }

    fn add(&mut self, more: impl Into<u64>) -> Result<(), Refusal> {
        self.found = self.found.saturating_add(more.into());
        within(self.what, self.found, self.limit)
    }
}

fn within(what: &'static str, count: u64, limit: u64) -> Result<(), Refusal> {
    if count > limit {
        return Err(Refusal::TooMany { what, count, limit });
    }
    Ok(())
}

/// Everything that is counted.
struct Counts {
    nested: Count,
    functions: Count,
    /// Of modules: types, imports, exports, globals, segments.
    items: Count,
    /// Of components: types, instances, aliases, imports, exports.
    parts: Count,
    /// Functions lifted and lowered: machine code each, that no function of the component accounts for.
    adapters: Count,
}

impl Counts {
    fn new() -> Self {
        Self {
            nested: Count::of("nested modules and components", 256),
            functions: Count::of("functions", 200_000),
            items: Count::of("types, imports, exports, globals and segments", 300_000),
            parts: Count::of("component types, instances, aliases, imports and exports", 50_000),
            adapters: Count::of("adapters between components", 10_000),
        }
    }

    fn add(&mut self, payload: &Payload<'_>) -> Result<(), Refusal> {
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
            Payload::CodeSectionEntry(body) => function(body),
            _ => Ok(()),
        }
    }
}

fn function(body: &FunctionBody<'_>) -> Result<(), Refusal> {
    within("bytes in one function", body.as_bytes().len() as u64, MAX_FUNCTION)?;
    let mut locals = 0u64;
    for declared in body.get_locals_reader().map_err(invalid)? {
        locals = locals.saturating_add(declared.map_err(invalid)?.0.into());
        within("locals in one function", locals, MAX_LOCALS)?;
    }
    Ok(())
}

#[derive(Default)]
pub(super) struct Found {
    pub(super) api: Option<String>,
    pub(super) manifest: Option<Vec<u8>>,
    pub(super) imports: Vec<String>,
    pub(super) exports: Vec<String>,
    pub(super) claims: Claims,
}

impl Found {
    /// Takes a custom section, if it is one of ours.
    fn section(&mut self, name: &str, data: &[u8]) -> Result<(), Refusal> {
        match name {
            Manifest::SECTION if self.manifest.replace(data.to_vec()).is_some() => {
                Err(Refusal::Manifest("there are two of them".into()))
            }
            Manifest::API_SECTION => {
                let text = printable(&String::from_utf8_lossy(data));
                match self.api.replace(text.clone()) {
                    Some(other) if other != text => Err(Refusal::Manifest("it names two API versions".into())),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

/// One pass over all sections, nested ones included: the SDK's sections are in the core module inside the component.
pub(super) fn walk(bytes: &[u8]) -> Result<Found, Refusal> {
    let (mut found, mut counts) = (Found::default(), Counts::new());
    let mut outer: Vec<Parser> = Vec::new();
    let mut parser = Parser::new(0);
    let mut rest = bytes;
    loop {
        let (payload, consumed) = match parser.parse(rest, true).map_err(invalid)? {
            Chunk::Parsed { payload, consumed } => (payload, consumed),
            Chunk::NeedMoreData(_) => return Err(Refusal::Invalid("unexpected end of file".into())),
        };
        rest = &rest[consumed..];
        counts.add(&payload)?;
        match payload {
            Payload::Version { encoding: Encoding::Module, .. } if outer.is_empty() => return Err(Refusal::CoreModule),
            Payload::ModuleSection { parser: inner, .. } | Payload::ComponentSection { parser: inner, .. } => {
                outer.push(std::mem::replace(&mut parser, inner));
                within("nested modules and components inside one another", outer.len() as u64, MAX_DEPTH)?;
            }
            Payload::ComponentImportSection(section) if outer.is_empty() => {
                for import in section {
                    found.imports.push(import.map_err(invalid)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if outer.is_empty() => {
                for export in section {
                    found.exports.push(export.map_err(invalid)?.name.name.to_owned());
                }
            }
            Payload::CustomSection(section) => {
                found.claims.section(section.name(), section.data(), &section.as_known(), outer.is_empty());
                found.section(section.name(), section.data())?;
            }
            Payload::End(_) => match outer.pop() {
                Some(next) => parser = next,
                None if rest.is_empty() => return Ok(found),
                None => return Err(Refusal::Invalid("there are bytes after its end".into())),
            },
            _ => {}
        }
    }
}

fn invalid(error: BinaryReaderError) -> Refusal {
    Refusal::Invalid(error.to_string())
}
