//! Core modules, which are no components: finds out for which host one was made, and advises what to do.

use wasmparser::{Parser, Payload};

/// Imports and exports that are looked at. Real modules name their host in the first few.
const MAX_NAMES: usize = 1_000;

const EXTISM: &str = "it is a plugin of Extism, a core module that exchanges bytes with Extism's runtime, which no wrapping \
                      replaces; move its functions into a plugin of this host (`portcullis new`), which knows the types of tools";
const OLD_SPIN: &str = "it is a module of Spin 0.x or 1.x, which answers HTTP requests and offers no tools; move what it does into a \
                    plugin of this host (`portcullis new`)";
const JAVASCRIPT: &str = "it is made for a host in JavaScript (wasm-bindgen), which no wrapping replaces; build it for the target \
                          wasm32-wasip2 without wasm-bindgen";
const WASI_0_1: &str = "it is a core module for WASI 0.1, not a component; build for the target wasm32-wasip2, or wrap it with \
                        `wasm-tools component new FILE --adapt` and the adapter of Wasmtime (command or reactor)";
const OTHER: &str = "it is a core module, not a component; build for the target wasm32-wasip2, or wrap it with \
                     `wasm-tools component new`";

/// Names that modules of Spin imported before Spin had components, and the export of those that answer HTTP.
const NAMES_OF_SPIN: [&str; 8] = [
    "handle-http-request",
    "wasi-outbound-http",
    "outbound-redis",
    "outbound-pg",
    "outbound-mysql",
    "spin-config",
    "key-value",
    "sqlite",
];

/// The advice for a core module, chosen by the host whose functions it imports.
pub(super) fn advice(bytes: &[u8]) -> &'static str {
    let sections = Parser::new(0).parse_all(bytes).map_while(Result::ok);
    let before_code = sections.take_while(|payload| !matches!(payload, Payload::CodeSectionStart { .. }));
    let of_section = |payload| -> Vec<&str> {
        match payload {
            Payload::ImportSection(section) => {
                section.into_imports().map_while(Result::ok).take(MAX_NAMES).map(|import| import.module).collect()
            }
            Payload::ExportSection(section) => {
                section.into_iter().map_while(Result::ok).take(MAX_NAMES).map(|export| export.name).collect()
            }
            _ => Vec::new(),
        }
    };
    let names: Vec<&str> = before_code.flat_map(of_section).take(2 * MAX_NAMES).collect();
    let any = |is_known: fn(&str) -> bool| names.iter().any(|name| is_known(name));
    // Most modules import WASI, too, so WASI is checked last.
    if any(|name| name.starts_with("extism:")) {
        EXTISM
    } else if any(|name| NAMES_OF_SPIN.contains(&name)) {
        OLD_SPIN
    } else if any(|name| name.starts_with("__wbindgen") || name == "wbg") {
        JAVASCRIPT
    } else if any(|name| ["wasi_snapshot_preview1", "wasi_unstable"].contains(&name)) {
        WASI_0_1
    } else {
        OTHER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_what_helps_it() {
        let module = |imports: &[&str]| {
            let line = |name: &&str| match *name {
                "handle-http-request" => "(func (export \"handle-http-request\"))".to_owned(),
                name => format!("(import \"{name}\" \"f\" (func))"),
            };
            wat::parse_str(format!("(module {})", imports.iter().map(line).collect::<String>())).unwrap()
        };
        for (imports, expected) in [
            (["wasi_snapshot_preview1", "extism:host/env"].as_slice(), "plugin of Extism"),
            (&["wasi_snapshot_preview1", "wasi-outbound-http"], "module of Spin"),
            (&["wasi_snapshot_preview1", "handle-http-request"], "module of Spin"),
            (&["wasi_snapshot_preview1"], "for WASI 0.1"),
            (&["__wbindgen_placeholder__"], "in JavaScript"),
            (&["env"], "wrap it with `wasm-tools"),
            (&[], "wrap it with `wasm-tools"),
        ] {
            let said = advice(&module(imports));
            assert!(said.contains(expected), "{imports:?}: {said}");
        }
        let whole = module(&["extism:host/env"]);
        for length in 0..whole.len() {
            advice(&whole[..length]);
        }
    }
}
