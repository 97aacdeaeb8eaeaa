//! All functions that a guest can import, read from the WIT of our interface and of WASI.

use crate::paths;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use wit_parser::{Function, Int, Resolve, SizeAlign, Type, TypeDefKind, TypeId, WorldId, WorldItem, WorldKey};

/// A function of some interface.
#[derive(Debug, Clone)]
pub struct Import {
    pub(super) key: WorldKey,
    pub(super) function: Target,
    /// Such as `wasi:cli/stdin get-stdin`, without a version.
    pub name: String,
}

#[derive(Debug, Clone)]
pub(super) enum Target {
    Function(Box<Function>),
    Drop(TypeId),
}

/// All interfaces that a guest can import from.
pub struct Universe {
    pub(super) wit: Resolve,
    pub(super) world: WorldId,
    pub(super) sizes: SizeAlign,
    /// A local port, for functions that need an address.
    pub(super) port: u16,
}

impl Universe {
    /// Reads our interface and WASI's, in the versions of the host's dependencies.
    pub fn new(port: u16) -> Self {
        let mut wit = Resolve { all_features: true, ..Resolve::default() };
        wit.push_dir(paths::root().join("wit/v0.1")).unwrap_or_else(|error| panic!("{error:#}"));
        wit.push_dir(wasi()).unwrap_or_else(|error| panic!("{error:#}"));
        wit.push_str("config.wit", CONFIG).unwrap_or_else(|error| panic!("{error:#}"));
        for dialect in ["wasmcp-v20251125", "wasmcp-v20250618"] {
            let file = paths::root().join(format!("tests/guests/dialects/{dialect}.wit"));
            let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let text = without_known(&wit, &text);
            wit.push_str(file, &text).unwrap_or_else(|error| panic!("{error:#}"));
        }
        let mut text = String::from("package audit:probe;\nworld probe { include portcullis:plugin/plugin@0.1.0;\n");
        for package in wit.packages.iter().map(|(_, package)| package) {
            let of_use = |name: &String| match package.name.namespace.as_str() {
                "wasi" => true,
                "wasmcp" => OF_WASMCP.contains(&name.as_str()),
                _ => name == "log",
            };
            for name in package.interfaces.keys().filter(|name| of_use(name)) {
                let _ = writeln!(text, "import {};", package.name.interface_id(name));
            }
        }
        let package = wit.push_str("probe.wit", &(text + "}")).unwrap_or_else(|error| panic!("{error:#}"));
        let world = wit.select_world(&[package], Some("probe")).unwrap_or_else(|error| panic!("{error:#}"));
        let mut sizes = SizeAlign::default();
        sizes.fill(&wit);
        Self { wit, world, sizes, port }
    }

    /// All functions of all interfaces, including the drop of each resource type.
    pub fn imports(&self) -> Vec<Import> {
        let mut imports = Vec::new();
        for (key, item) in &self.wit.worlds[self.world].imports {
            let WorldItem::Interface { id, .. } = item else { continue };
            let interface = self.wit.name_world_key(key);
            let interface = interface.split('@').next().unwrap_or_default();
            let of = |function, name: &str| Import { key: key.clone(), function, name: format!("{interface} {name}") };
            for (name, function) in &self.wit.interfaces[*id].functions {
                imports.push(of(Target::Function(Box::new(function.clone())), name));
            }
            for (name, ty) in &self.wit.interfaces[*id].types {
                if matches!(self.wit.types[*ty].kind, TypeDefKind::Resource) {
                    imports.push(of(Target::Drop(*ty), &format!("[drop]{name}")));
                }
            }
        }
        imports
    }

    /// Describes the result: `back` is what the component logged after its mark.
    pub fn outcome(&self, import: &Import, back: &str) -> String {
        let bytes: Vec<u8> = (0..back.len() / 2)
            .map(|at| u8::from_str_radix(&back[2 * at..2 * at + 2], 16).unwrap_or_default())
            .collect();
        let Target::Function(function) = &import.function else { return "returns".into() };
        let Some(ty) = &function.result else { return "returns".into() };
        let Some(kind) = self.kind(ty) else { return "value".into() };
        let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
        match kind {
            TypeDefKind::Result(result) if byte(0) == 1 => {
                let cases = [result.ok.as_ref(), result.err.as_ref()];
                let at = self.sizes.payload_offset(Int::U8, cases).size_wasm32();
                let name = result.err.as_ref().and_then(|ty| self.case(ty, byte(at)));
                name.map_or_else(|| "error".into(), |name| format!("error {name}"))
            }
            TypeDefKind::Result(_) => "ok".into(),
            TypeDefKind::Option(_) => if byte(0) == 0 { "none" } else { "some" }.into(),
            TypeDefKind::List(_) => if bytes.get(4..8) == Some(&[0; 4]) { "empty" } else { "some" }.into(),
            TypeDefKind::Handle(_) => "handle".into(),
            _ => "value".into(),
        }
    }

    pub(super) fn kind(&self, ty: &Type) -> Option<&TypeDefKind> {
        let Type::Id(id) = ty else { return None };
        match &self.wit.types[*id].kind {
            TypeDefKind::Type(inner) => self.kind(inner),
            kind => Some(kind),
        }
    }

    fn case(&self, ty: &Type, number: u8) -> Option<String> {
        match self.kind(ty)? {
            TypeDefKind::Enum(cases) => Some(cases.cases.get(usize::from(number))?.name.clone()),
            TypeDefKind::Variant(cases) => Some(cases.cases.get(usize::from(number))?.name.clone()),
            _ => None,
        }
    }
}

/// What components of that dialect import; they export the others.
const OF_WASMCP: [&str; 6] = ["server-io", "server-handler", "server-auth", "sessions", "session-manager", "store"];

/// The text of a dialect without the packages that are there already, in the host's version of WASI: handles of another one
/// would be of other types.
fn without_known(wit: &Resolve, text: &str) -> String {
    let known: Vec<String> = wit.packages.iter().map(|(_, package)| package.name.to_string()).collect();
    let io = known.iter().find(|name| name.starts_with("wasi:io@")).and_then(|name| name.split('@').nth(1));
    let text = text.replace("@0.2.8", &format!("@{}", io.expect("WASI has streams")));
    let is_new = |section: &&str| !known.iter().any(|name| section.starts_with(&format!("{name} {{")));
    text.split("\npackage ").filter(is_new).collect::<Vec<_>>().join("\npackage ")
}

/// A draft that is not among the interfaces of WASI in wasmtime.
const CONFIG: &str = "package wasi:config@0.2.0-draft;
interface store {
    variant config-error { upstream(string), io(string) }
    get: func(key: string) -> result<option<string>, config-error>;
    get-all: func() -> result<list<tuple<string, string>>, config-error>;
}";

/// The folder with the WIT of WASI in this host's version of wasmtime.
fn wasi() -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"]);
    let output = cargo.current_dir(paths::root()).output().unwrap_or_else(|error| panic!("cargo: {error}"));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("cargo metadata: {error}: {}", String::from_utf8_lossy(&output.stderr)));
    let packages = metadata["packages"].as_array().expect("packages");
    let ours = packages.iter().find(|package| package["name"] == "wasmtime-wasi-http");
    let manifest = ours.and_then(|package| package["manifest_path"].as_str()).expect("wasmtime-wasi-http is used");
    PathBuf::from(manifest).with_file_name("wit")
}
