//! Looking at a component without running it: is it one, is it ours, what does it want.

use super::claims::Claims;
use super::manifest::Manifest;
use super::walk::walk;
use super::{API_VERSION, MAX_COMPONENT};
use serde::{Deserialize, Serialize};
use wasmparser::{Validator, WasmFeatures};

/// The export that makes a component a plugin with tools.
pub const TOOLS_INTERFACE: &str = "portcullis:plugin/tools@0.1.0";
/// Exports that make it a plugin without any.
const OTHER_INTERFACES: [&str; 2] = ["portcullis:plugin/resources@0.1.0", "portcullis:plugin/prompts@0.1.0"];

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

/// Text from the file, fit to be shown: short, and without control characters.
pub(super) fn printable(text: &str) -> String {
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
