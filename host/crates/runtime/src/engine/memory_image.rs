//! Divides a component into the image of its memory and everything else. A new build of a plugin in Python or JavaScript
//! differs from the one before in the image only: its code is the interpreter.

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use std::ops::Range;
use wasm_encoder::{
    Component, ComponentSectionId, ConstExpr, DataCountSection, DataSection, Module, ModuleSection, RawSection,
    SectionId,
};
use wasmparser::{
    BinaryReader, ConstExpr as Offset, DataKind, DataSectionReader, ImportSectionReader, MemorySectionReader, Operator,
    Parser, Payload, TypeRef,
};

/// The least bytes of code for which dividing a component is worth it: less is compiled in a fraction of a second.
const LEAST_CODE: usize = 256 << 10;
/// Bytes of a WebAssembly page. An image begins at a page boundary.
const PAGE: usize = 64 << 10;
/// The end of an image is rounded up to a multiple of this, so that it does not move when the next build has a little more or
/// less data.
const END_STEP: usize = 1 << 20;
/// An image may be longer than twice its data by this many bytes. Bounds how much the gaps between data segments can add.
const MAX_GAPS: usize = 2 * END_STEP;

/// A section: its number and its contents.
type Section<'a> = (u8, &'a [u8]);

pub(super) struct DividedComponent<'a> {
    /// All sections except custom ones, which the compiler does not read.
    sections: Vec<Section<'a>>,
    /// Which of them is the module with the image.
    module: usize,
    module_sections: Vec<Section<'a>>,
    segments: Vec<Segment<'a>>,
    /// Where the image is in the memory.
    place: Range<usize>,
    image: Vec<u8>,
}

/// A data segment of the component without its image.
enum Segment<'a> {
    /// In place of the first active segment: the whole image.
    Image,
    /// In place of another active segment. It is kept so that the segments that instructions name keep their numbers.
    Empty,
    Passive(&'a [u8]),
}

impl<'a> DividedComponent<'a> {
    /// None if dividing the component is not worth it, or if the image is known only when an instance starts.
    pub(super) fn divide(component: &'a [u8]) -> Option<Self> {
        let sections = sections(component)?;
        let modules = sections.iter().enumerate().filter(|(_, (id, _))| *id == MODULE);
        let (module, (_, bytes)) = modules.max_by_key(|(_, (_, bytes))| bytes.len())?;
        let module_sections = sections_of_module(bytes)?;
        if find(&module_sections, SectionId::Code)?.len() < LEAST_CODE {
            return None;
        }
        let (segments, place, image) = image(&module_sections)?;
        Some(Self { module, module_sections, segments, place, image, sections })
    }

    pub(super) fn image(&self) -> &[u8] {
        &self.image
    }

    /// Names everything else. Components with the same name have the same code, and an image of the same length.
    pub(super) fn name_without_image(&self) -> String {
        let mut hash = Sha256::new_with_prefix(self.with_image(&[]));
        hash.update(self.place.end.to_le_bytes());
        HEXLOWER.encode(&hash.finalize())
    }

    /// The component with another image of the same length.
    pub(super) fn with_image(&self, image: &[u8]) -> Vec<u8> {
        let mut module = Module::new();
        for (id, contents) in &self.module_sections {
            if *id == SectionId::DataCount as u8 {
                module.section(&DataCountSection { count: u32::try_from(self.segments.len()).unwrap_or(u32::MAX) });
            } else if *id == SectionId::Data as u8 {
                module.section(&self.data(image));
            } else {
                module.section(&RawSection { id: *id, data: contents });
            }
        }
        let mut component = Component::new();
        for (at, (id, data)) in self.sections.iter().enumerate() {
            if at == self.module {
                component.section(&ModuleSection(&module));
            } else {
                component.section(&RawSection { id: *id, data });
            }
        }
        component.finish()
    }

    fn data(&self, image: &[u8]) -> DataSection {
        let mut section = DataSection::new();
        for segment in &self.segments {
            let start = u32::try_from(self.place.start).unwrap_or(u32::MAX).cast_signed();
            match segment {
                Segment::Image => section.active(0, &ConstExpr::i32_const(start), image.iter().copied()),
                Segment::Empty => section.active(0, &ConstExpr::i32_const(0), []),
                Segment::Passive(data) => section.passive(data.iter().copied()),
            };
        }
        section
    }
}

/// The number of a component's section that is a module.
const MODULE: u8 = ComponentSectionId::CoreModule as u8;

/// The sections of a component that are compiled.
fn sections(component: &[u8]) -> Option<Vec<Section<'_>>> {
    let (mut sections, mut depth) = (Vec::new(), 0_u32);
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.ok()?;
        if depth == 0 && !matches!(payload, Payload::CustomSection(_)) {
            sections.extend(contents(&payload, component)?);
        }
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Some(sections)
}

fn sections_of_module(module: &[u8]) -> Option<Vec<Section<'_>>> {
    let payloads = Parser::new(0).parse_all(module);
    let found: Option<Vec<_>> = payloads.map(|payload| contents(&payload.ok()?, module)).collect();
    Some(found?.into_iter().flatten().collect())
}

/// The section that a payload is, if it is one.
fn contents<'a>(payload: &Payload<'_>, bytes: &'a [u8]) -> Option<Option<Section<'a>>> {
    let Some((id, range)) = payload.as_section() else { return Some(None) };
    Some(Some((id, bytes.get(range)?)))
}

fn find<'a>(sections: &[Section<'a>], wanted: SectionId) -> Option<&'a [u8]> {
    sections.iter().find(|(id, _)| *id == wanted as u8).map(|(_, contents)| *contents)
}

/// The size of a module's only memory when an instance starts, in bytes.
fn only_memory(sections: &[Section<'_>]) -> Option<usize> {
    let memories = MemorySectionReader::new(BinaryReader::new(find(sections, SectionId::Memory)?, 0)).ok()?;
    let count = memories.count();
    let memory = memories.into_iter().next()?.ok()?;
    if count != 1 || memory.memory64 || memory.shared || memory.page_size_log2.is_some() {
        return None;
    }
    if let Some(imports) = find(sections, SectionId::Import) {
        for import in ImportSectionReader::new(BinaryReader::new(imports, 0)).ok()?.into_imports() {
            if matches!(import.ok()?.ty, TypeRef::Memory(_)) {
                return None;
            }
        }
    }
    usize::try_from(memory.initial).ok()?.checked_mul(PAGE)
}

/// The segments that a module has without its image, the place of the image in the memory, and the image.
fn image<'a>(sections: &[Section<'a>]) -> Option<(Vec<Segment<'a>>, Range<usize>, Vec<u8>)> {
    let memory = only_memory(sections)?;
    let data = DataSectionReader::new(BinaryReader::new(find(sections, SectionId::Data)?, 0)).ok()?;
    // Without this section no instruction can name a segment.
    let count = find(sections, SectionId::DataCount).map(|count| BinaryReader::new(count, 0).read_var_u32());
    let are_numbered = count.is_some();
    if count.is_some_and(|count| count.ok() != Some(data.count())) {
        return None;
    }
    let (mut segments, mut active) = (Vec::new(), Vec::new());
    for data in data {
        let data = data.ok()?;
        match data.kind {
            DataKind::Passive => segments.push(Segment::Passive(data.data)),
            DataKind::Active { memory_index: 0, offset_expr } => {
                if active.is_empty() {
                    segments.push(Segment::Image);
                } else if are_numbered {
                    segments.push(Segment::Empty);
                }
                active.push((constant(&offset_expr)?, data.data));
            }
            DataKind::Active { .. } => return None,
        }
    }
    let place = place(&active, memory)?;
    let mut image = vec![0; place.len()];
    for (start, data) in active.into_iter().filter(|(_, data)| !data.is_empty()) {
        image[start - place.start..][..data.len()].copy_from_slice(data);
    }
    Some((segments, place, image))
}

fn constant(offset: &Offset<'_>) -> Option<usize> {
    let mut operators = offset.get_operators_reader();
    let Operator::I32Const { value } = operators.read().ok()? else { return None };
    operators.read().ok().filter(|next| matches!(next, Operator::End))?;
    usize::try_from(value.cast_unsigned()).ok()
}

/// Where the image of these segments is in a memory of so many bytes; none if it would be mostly gaps.
fn place(active: &[(usize, &[u8])], memory: usize) -> Option<Range<usize>> {
    let (mut start, mut end, mut bytes) = (memory, 0, 0);
    for (offset, data) in active {
        // A segment outside of the memory makes the instance fail, even if it is empty.
        let after = offset.checked_add(data.len()).filter(|after| *after <= memory)?;
        if !data.is_empty() {
            (start, end, bytes) = (start.min(*offset), end.max(after), bytes + data.len());
        }
    }
    let place = start / PAGE * PAGE..end.next_multiple_of(END_STEP).min(memory);
    (bytes > 0 && place.len() <= 2 * bytes + MAX_GAPS).then_some(place)
}

#[cfg(test)]
mod tests;
