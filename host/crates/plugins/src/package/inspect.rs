//! Inspects a component without running it: whether it is a valid plugin, and what it requests.

use super::api::{API_VERSION, OTHER_INTERFACES, PACKAGE, TOOLS_INTERFACE};
use super::claims::Claims;
use super::core_module;
use super::error::{InspectError, printable};
use super::file::MAX_COMPONENT;
use super::manifest::Manifest;
use super::scan::{Sections, scan};
use runtime::abi::Dialect;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use wasmparser::{Validator, WasmFeatures};

/// The properties of a valid component.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    pub manifest: Option<Manifest>,
    /// Interfaces and functions, in the order of the component.
    pub imports: Vec<String>,
    pub exports: Vec<String>,
    /// In bytes.
    pub size: u64,
    /// Unverified metadata, such as author and licence.
    pub claims: Claims,
    /// The comments of its WIT, for a component with functions of its own. Not stored: the offer has what they say of tools.
    #[serde(skip)]
    pub(crate) docs: Option<Arc<[u8]>>,
}

/// The interface through which a plugin reads messages to its running calls, without its version.
const STEERING_INTERFACE: &str = "portcullis:plugin/steering@";

impl Inspection {
    /// The version of the WIT package whose interfaces it exports; none for a component with functions of its own.
    pub fn api_version(&self) -> Option<&'static str> {
        self.exports.iter().any(|name| name.starts_with(PACKAGE)).then_some(API_VERSION)
    }

    /// Which dialect of WIT it speaks, by its exports.
    pub fn dialect(&self) -> Dialect {
        Dialect::of_exports(self.exports.iter().map(String::as_str))
    }

    /// Whether the component reads messages to its running calls.
    pub(crate) fn reads_steering(&self) -> bool {
        self.imports.iter().any(|import| import.starts_with(STEERING_INTERFACE))
    }
}

/// Inspects a component: cheap checks first, then full validation.
pub fn inspect(bytes: &[u8]) -> Result<Inspection, InspectError> {
    let size = bytes.len() as u64;
    if size > MAX_COMPONENT {
        return Err(InspectError::TooLarge { size, limit: MAX_COMPONENT });
    }
    check_magic(bytes)?;
    let sections = scan(bytes)?;
    if let Some(found) = sections.api.filter(|version| version != API_VERSION) {
        return Err(InspectError::WrongApi { found });
    }
    let manifest =
        sections.manifest.map(|bytes| Manifest::parse(&bytes)).transpose().map_err(InspectError::Manifest)?;
    let is_plugin_interface = |name: &String| name == TOOLS_INTERFACE || OTHER_INTERFACES.contains(&name.as_str());
    let is_of_package = |name: &String| name.starts_with(PACKAGE);
    let is_plain = !sections.exports.is_empty() && !sections.exports.iter().any(is_of_package);
    if !is_plain && !sections.exports.iter().any(is_plugin_interface) {
        let mut versions = sections.exports.iter().filter_map(|name| name.strip_prefix(PACKAGE)?.split_once('@'));
        if let Some((_, other)) = versions.find(|(_, version)| *version != API_VERSION) {
            return Err(InspectError::WrongApi { found: printable(other) });
        }
        let exports =
            if sections.exports.is_empty() { "nothing".to_owned() } else { printable(&sections.exports.join(", ")) };
        return Err(InspectError::WrongWorld { exports });
    }
    if Dialect::of_exports(sections.exports.iter().map(String::as_str)) == Dialect::ActAsync {
        return Err(InspectError::AsynchronousAct);
    }
    let features =
        WasmFeatures::default() & !WasmFeatures::MEMORY64 & !WasmFeatures::THREADS & !WasmFeatures::RELAXED_SIMD;
    let validate = |features| Validator::new_with_features(features).validate_all(bytes).map(|_| ());
    validate(features & !WasmFeatures::CM_ASYNC).map_err(|error| match validate(features) {
        Ok(()) => InspectError::Asynchronous(error.to_string()),
        Err(_) => InspectError::Invalid(error.to_string()),
    })?;
    let Sections { imports, exports, claims, docs, .. } = sections;
    let docs = docs.filter(|_| is_plain).map(Arc::from);
    Ok(Inspection { manifest, imports, exports, size, claims, docs })
}

fn check_magic(bytes: &[u8]) -> Result<(), InspectError> {
    match bytes {
        [] => Err(InspectError::NotWasm("the file is empty")),
        [0x7f, b'E', b'L', b'F', ..] => Err(InspectError::NotWasm(
            "it is machine code (ELF); precompiled plugins are never accepted, build a component",
        )),
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => Err(InspectError::CoreModule(core_module::advice(bytes))),
        [0, b'a', b's', b'm', ..] => Ok(()),
        _ => Err(InspectError::NotWasm("it does not begin with the bytes of a WebAssembly file")),
    }
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
    fn files_of_other_types_are_refused() {
        assert!(matches!(inspect(b""), Err(InspectError::NotWasm(_))));
        assert!(matches!(inspect(b"\x7fELF...."), Err(InspectError::NotWasm(_))));
        assert!(matches!(inspect(b"#!/bin/sh"), Err(InspectError::NotWasm(_))));
        assert!(matches!(inspect(&[0, b'a', b's', b'm', 1, 0, 0, 0]), Err(InspectError::CoreModule(_))));
        assert!(matches!(inspect(&EMPTY_COMPONENT[..6]), Err(InspectError::Invalid(_))));
        assert_eq!(inspect(EMPTY_COMPONENT), Err(InspectError::WrongWorld { exports: "nothing".into() }));
    }

    #[test]
    fn api_version_and_manifest_are_checked_before_validation() {
        let old = [EMPTY_COMPONENT, &custom("portcullis:api", b"0.9.0")].concat();
        assert_eq!(inspect(&old), Err(InspectError::WrongApi { found: "0.9.0".into() }));
        let bad = [EMPTY_COMPONENT, &custom("portcullis:manifest", b"{}")].concat();
        assert!(matches!(inspect(&bad), Err(InspectError::Manifest(_))));
    }
}
