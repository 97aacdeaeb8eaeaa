//! Removes data segments that nothing reads. Wizer leaves one in place of each segment that the module had, and wasmtime notes in
//! each new instance where every one is.

use wasm_encoder::{DataSection, DataSegment, DataSegmentMode, Module, RawSection};
use wasmparser::{DataKind, Operator, Parser, Payload};

/// The same module without passive segments, unless its code names segments.
pub(crate) fn remove(module: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut slim = Module::new();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        match (&payload, payload.as_section()) {
            (Payload::DataSection(section), _) => {
                let mut kept = DataSection::new();
                for data in section.clone() {
                    let data = data?;
                    if let DataKind::Active { memory_index, offset_expr } = data.kind {
                        let offset = &offset_expr.try_into()?;
                        let mode = DataSegmentMode::Active { memory_index, offset };
                        kept.segment(DataSegment { mode, data: data.data.iter().copied() });
                    }
                }
                slim.section(&kept);
            }
            // Only instructions that name segments need it.
            (Payload::DataCountSection { .. }, _) | (_, None) => {}
            (_, Some((id, range))) => {
                let data = &module[usize::try_from(range.start)?..usize::try_from(range.end)?];
                slim.section(&RawSection { id, data });
            }
        }
        if let Payload::CodeSectionEntry(body) = payload {
            for operator in body.get_operators_reader()? {
                if let Operator::MemoryInit { .. } | Operator::DataDrop { .. } = operator? {
                    return Ok(module.to_vec());
                }
            }
        }
    }
    Ok(slim.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &str =
        "(memory 1) (data \"unread\") (data (i32.const 8) \"one\") (data \"\") (data (i32.const 2) \"two\")";

    #[test]
    fn what_nothing_reads_is_removed() {
        let module = |more: &str| wat::parse_str(format!("(module {DATA} (func (export \"run\") {more}))")).unwrap();
        let segments = |module: &[u8]| -> Vec<Vec<u8>> {
            let payloads = Parser::new(0).parse_all(module).map(Result::unwrap);
            let sections = payloads.filter_map(|payload| match payload {
                Payload::DataSection(section) => Some(section),
                _ => None,
            });
            sections.flatten().map(|data| data.unwrap().data.to_vec()).collect()
        };
        let slim = remove(&module("nop")).unwrap();
        wasmparser::validate(&slim).unwrap();
        assert_eq!(segments(&slim), [b"one", b"two"]);
        for more in ["(memory.init 0 (i32.const 0) (i32.const 0) (i32.const 0))", "(data.drop 2)"] {
            assert_eq!(remove(&module(more)).unwrap(), module(more), "{more}");
        }
        assert!(remove(b"\0asm\x01\0\0\0\x0b\x05").is_err());
    }
}
