//! Makes objects of Python immortal (PEP 683) in the image of its memory. The interpreter then no longer counts references to
//! them, so a call that only reads them writes into no page of theirs.

use anyhow::{Context, ensure};
use std::ops::Range;
use wasmparser::{DataKind, Operator, Parser, Payload};

/// Marks a note in the memory: after it, the SDK's `image/immortal.py` writes where the addresses of the objects are, and how
/// many.
const SIGN: [u8; 16] = *b"\xc3\x11\x9e\x55\xa0\x7b\x42\xd9\x18\x6f\xe3\x2c\x81\x94\x0d\x37";
/// The reference count of an immortal object where a word has 32 bits: `Include/refcount.h` of CPython 3.14.
const IMMORTAL: u32 = 5 << 28;
/// The reference counts with which an object is made immortal. With more references, it is immortal already.
const COUNTED: Range<u32> = 1..1 << 16;
const WORD: usize = 4;

/// Returns how many objects became immortal.
pub(crate) fn make(component: &mut [u8]) -> anyhow::Result<usize> {
    let image = Image::read(component)?;
    let note = memchr::memmem::find(&image.memory, &SIGN).context("the SDK has noted no objects in the image")?;
    let (first, count) = (image.word(note + SIGN.len())?, image.word(note + SIGN.len() + WORD)?);
    let mut made = 0;
    for index in 0..count as usize {
        let object = image.word(first as usize + index * WORD)? as usize;
        if COUNTED.contains(&image.word(object)?) {
            component[image.place(object)?..][..WORD].copy_from_slice(&IMMORTAL.to_le_bytes());
            made += 1;
        }
    }
    Ok(made)
}

/// The memory with which an instance begins.
struct Image {
    memory: Vec<u8>,
    segments: Vec<Segment>,
}

/// What is in the memory, and where these bytes are in the component.
struct Segment {
    memory: Range<usize>,
    component: Range<usize>,
}

impl Image {
    fn read(component: &[u8]) -> anyhow::Result<Self> {
        let mut segments = Vec::new();
        for payload in Parser::new(0).parse_all(component) {
            let Payload::DataSection(section) = payload? else { continue };
            for data in section {
                let data = data?;
                let DataKind::Active { offset_expr, .. } = data.kind else { continue };
                if let Operator::I32Const { value } = offset_expr.get_operators_reader().read()? {
                    let (address, end) = (value.cast_unsigned() as usize, usize::try_from(data.range.end)?);
                    let length = data.data.len();
                    segments.push(Segment { memory: address..address + length, component: end - length..end });
                }
            }
        }
        segments.sort_by_key(|segment| segment.memory.start);
        ensure!(
            segments.is_sorted_by(|one, next| one.memory.end <= next.memory.start),
            "the image has two contents at one place"
        );
        let mut memory = vec![0; segments.last().map_or(0, |segment| segment.memory.end)];
        for segment in &segments {
            memory[segment.memory.clone()].copy_from_slice(&component[segment.component.clone()]);
        }
        Ok(Self { memory, segments })
    }

    fn word(&self, address: usize) -> anyhow::Result<u32> {
        let bytes = self.memory.get(address..).and_then(|bytes| bytes.first_chunk());
        bytes.map(|bytes| u32::from_le_bytes(*bytes)).with_context(|| outside(address))
    }

    /// Where a word is in the component.
    fn place(&self, address: usize) -> anyhow::Result<usize> {
        let after = self.segments.partition_point(|segment| segment.memory.start <= address);
        let segment = after.checked_sub(1).map(|at| &self.segments[at]);
        let whole = segment.filter(|segment| address + WORD <= segment.memory.end).with_context(|| outside(address))?;
        Ok(whole.component.start + (address - whole.memory.start))
    }
}

fn outside(address: usize) -> String {
    format!("the SDK has noted an object at {address:#x}, where the image has none")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two objects that are counted, one that is immortal already, and a tuple of the three at 64. The note is at 96.
    const OBJECTS: &str = r#"(component (core module
        (memory 1)
        (data (i32.const 96) "\c3\11\9e\55\a0\7b\42\d9\18\6f\e3\2c\81\94\0d\37\40\00\00\00\03")
        (data (i32.const 16) "\01\00\00\00type\02\01\00\00type\00\00\00\70type")
        (data (i32.const 64) "\10\00\00\00\18\00\00\00\20\00\00\00")
        (data (i32.const 120) "end")))"#;

    #[test]
    fn counted_objects_become_immortal() {
        let mut component = wat::parse_str(OBJECTS).unwrap();
        let before = component.clone();
        assert_eq!(make(&mut component).unwrap(), 2);
        let image = Image::read(&component).unwrap();
        let words = [16, 20, 24, 28, 32].map(|address| image.word(address).unwrap());
        let name = u32::from_le_bytes(*b"type");
        assert_eq!(words, [IMMORTAL, name, IMMORTAL, name, 7 << 28]);
        assert_eq!(component.iter().zip(&before).filter(|(now, then)| now != then).count(), 5, "nothing else changed");
        assert_eq!(make(&mut component).unwrap(), 0, "what is immortal stays so");
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let refused = |from: &str, to: &str| {
            assert!(OBJECTS.contains(from), "{from}");
            let mut component = wat::parse_str(OBJECTS.replacen(from, to, 1)).unwrap();
            make(&mut component).unwrap_err().to_string()
        };
        assert_eq!(refused("\\c3", "\\c4"), "the SDK has noted no objects in the image");
        assert!(refused("\\18\\00\\00\\00", "\\18\\00\\00\\7f").contains("at 0x7f000018, where the image has none"));
        assert!(refused("\\40\\00\\00\\00\\03", "\\40\\00\\00\\00\\ff").contains("where the image has none"));
        assert!(refused("i32.const 120", "i32.const 66").contains("two contents"));
        assert!(make(&mut wat::parse_str("(component)").unwrap()).is_err());
    }
}
