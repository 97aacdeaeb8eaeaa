//! Looking at a component without running it: is it one, is it ours, what does it want.

use super::claims::Claims;
use super::manifest::Manifest;
use super::{API_VERSION, MAX_COMPONENT};
use serde::{Deserialize, Serialize};
use wasmparser::{Chunk, Encoding, Parser, Payload, Validator, WasmFeatures};

/// The export that makes a component a plugin with tools.
pub const TOOLS_INTERFACE: &str = "portcullis:plugin/tools@0.1.0";
/// Exports that make it a plugin without any.
const OTHER_INTERFACES: [&str; 2] = ["portcullis:plugin/resources@0.1.0", "portcullis:plugin/prompts@0.1.0"];
/// Nested modules and components. Bounds compile time and the depth of our own walk.
const MAX_NESTED: usize = 256;
/// Functions in all. Bounds compile time.
const MAX_FUNCTIONS: u32 = 200_000;

/// Why bytes are no plugin for this host.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum Refusal {
    #[error("it is {} MiB, larger than the limit of {} MiB", size >> 20, limit >> 20)]
    TooLarge { size: u64, limit: u64 },
    #[error("it is not WebAssembly: {0}")]
    NotWasm(&'static str),
    #[error(
        "it is a core module, not a component; build for the target wasm32-wasip2, or wrap it with `wasm-tools component new`"
    )]
    CoreModule,
    #[error("it is not a valid component: {0}")]
    Invalid(String),
    #[error(
        "it is built for portcullis:plugin {theirs}; this host offers {API_VERSION}. Build the plugin with a matching SDK"
    )]
    WrongApi { theirs: String },
    #[error("it does not export {TOOLS_INTERFACE}, nor resources or prompts instead; it exports: {exports}")]
    WrongWorld { exports: String },
    #[error("its manifest is wrong: {0}")]
    Manifest(String),
    #[error("it has {count} {what}, more than the limit of {limit}")]
    TooMany { what: &'static str, count: u64, limit: u64 },
}

/// What a component turned out to be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    /// What it says of itself, if it does.
    pub manifest: Option<Manifest>,
    /// Interfaces and functions it imports, in its own order.
    pub imports: Vec<String>,
    /// What it exports.
    pub exports: Vec<String>,
    /// Bytes.
    pub size: u64,
    /// Who made it and under which licence, if one were to believe it.
    pub claims: Claims,
}

/// Looks at bytes; cheap refusals first, then full validation.
pub fn inspect(bytes: &[u8]) -> Result<Inspection, Refusal> {
    let size = bytes.len() as u64;
    if size > MAX_COMPONENT {
        return Err(Refusal::TooLarge { size, limit: MAX_COMPONENT });
    }
    magic(bytes)?;
    let found = walk(bytes)?;
    if let Some(theirs) = found.api.filter(|version| version != API_VERSION) {
        return Err(Refusal::WrongApi { theirs });
    }
    let manifest = found.manifest.map(|bytes| Manifest::parse(&bytes)).transpose().map_err(Refusal::Manifest)?;
    let ours = |name: &String| name == TOOLS_INTERFACE || OTHER_INTERFACES.contains(&name.as_str());
    if !found.exports.iter().any(ours) {
        let mut versions =
            found.exports.iter().filter_map(|name| name.strip_prefix("portcullis:plugin/")?.split_once('@'));
        if let Some((_, other)) = versions.find(|(_, version)| *version != API_VERSION) {
            return Err(Refusal::WrongApi { theirs: printable(other) });
        }
        let exports =
            if found.exports.is_empty() { "nothing".to_owned() } else { printable(&found.exports.join(", ")) };
        return Err(Refusal::WrongWorld { exports });
    }
    let features =
        WasmFeatures::default() & !WasmFeatures::MEMORY64 & !WasmFeatures::THREADS & !WasmFeatures::RELAXED_SIMD;
    Validator::new_with_features(features).validate_all(bytes).map_err(|error| Refusal::Invalid(error.to_string()))?;
    Ok(Inspection { manifest, imports: found.imports, exports: found.exports, size, claims: found.claims })
}

fn magic(bytes: &[u8]) -> Result<(), Refusal> {
    match bytes {
        [] => Err(Refusal::NotWasm("the file is empty")),
        [0x7f, b'E', b'L', b'F', ..] => {
            Err(Refusal::NotWasm("it is machine code (ELF); precompiled plugins are never accepted, build a component"))
        }
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => Err(Refusal::CoreModule),
        [0, b'a', b's', b'm', ..] => Ok(()),
        _ => Err(Refusal::NotWasm("it does not begin with the bytes of a WebAssembly file")),
    }
}

#[derive(Default)]
struct Found {
    api: Option<String>,
    manifest: Option<Vec<u8>>,
    imports: Vec<String>,
    exports: Vec<String>,
    claims: Claims,
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
fn walk(bytes: &[u8]) -> Result<Found, Refusal> {
    let invalid = |error: wasmparser::BinaryReaderError| Refusal::Invalid(error.to_string());
    let mut found = Found::default();
    let (mut nested, mut functions) = (0usize, 0u32);
    let mut outer: Vec<Parser> = Vec::new();
    let mut parser = Parser::new(0);
    let mut rest = bytes;
    loop {
        let (payload, consumed) = match parser.parse(rest, true).map_err(invalid)? {
            Chunk::Parsed { payload, consumed } => (payload, consumed),
            Chunk::NeedMoreData(_) => return Err(Refusal::Invalid("unexpected end of file".into())),
        };
        rest = &rest[consumed..];
        match payload {
            Payload::Version { encoding: Encoding::Module, .. } if outer.is_empty() => return Err(Refusal::CoreModule),
            Payload::ModuleSection { parser: inner, .. } | Payload::ComponentSection { parser: inner, .. } => {
                nested += 1;
                if nested > MAX_NESTED {
                    let (count, limit) = (nested as u64, MAX_NESTED as u64);
                    return Err(Refusal::TooMany { what: "nested modules and components", count, limit });
                }
                outer.push(std::mem::replace(&mut parser, inner));
            }
            Payload::FunctionSection(section) => {
                functions = functions.saturating_add(section.count());
                if functions > MAX_FUNCTIONS {
                    return Err(Refusal::TooMany {
                        what: "functions",
                        count: functions.into(),
                        limit: MAX_FUNCTIONS.into(),
                    });
                }
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

/// Text from the file, fit to be shown: short, and without control characters.
fn printable(text: &str) -> String {
    text.chars().take(300).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY_COMPONENT: &[u8] = &[0, b'a', b's', b'm', 13, 0, 1, 0];

    fn custom(name: &str, data: &[u8]) -> Vec<u8> {
        let body = [&[u8::try_from(name.len()).unwrap()], name.as_bytes(), data].concat();
        [&[0, u8::try_from(body.len()).unwrap()], body.as_slice()].concat()
    }

    #[test]
    fn tells_files_apart() {
        assert!(matches!(inspect(b""), Err(Refusal::NotWasm(_))));
        assert!(matches!(inspect(b"\x7fELF...."), Err(Refusal::NotWasm(_))));
        assert!(matches!(inspect(b"#!/bin/sh"), Err(Refusal::NotWasm(_))));
        assert_eq!(inspect(&[0, b'a', b's', b'm', 1, 0, 0, 0]), Err(Refusal::CoreModule));
        assert!(matches!(inspect(&EMPTY_COMPONENT[..6]), Err(Refusal::Invalid(_))));
        assert_eq!(inspect(EMPTY_COMPONENT), Err(Refusal::WrongWorld { exports: "nothing".into() }));
    }

    #[test]
    fn reads_sections_before_anything_is_compiled() {
        let old = [EMPTY_COMPONENT, &custom("portcullis:api", b"0.9.0")].concat();
        assert_eq!(inspect(&old), Err(Refusal::WrongApi { theirs: "0.9.0".into() }));
        let bad = [EMPTY_COMPONENT, &custom("portcullis:manifest", b"{}")].concat();
        assert!(matches!(inspect(&bad), Err(Refusal::Manifest(_))));
    }
}
