//! Generates one component for each function that a guest can import. The component calls the function once, with the
//! handles that a guest without grants can get, and logs the result. The functions come from the WIT of our interface
//! and of all of WASI 0.2, so that none is missed.

use crate::{forge, paths};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use wit_parser::abi::{AbiVariant, FlatTypes, WasmType};
use wit_parser::{
    Function, Handle, Int, LiftLowerAbi, ManglingAndAbi, Resolve, ResourceIntrinsic, SizeAlign, Type, TypeDefKind,
    TypeId, WasmImport, WorldId, WorldItem, WorldKey,
};

/// The address of the result, and how many of its bytes are logged.
const BACK: u32 = 2048;
const SEEN: u32 = 32;
/// The address of zeros, for arguments that are too many to be passed separately.
const ZEROS: u32 = 65536;
/// Where a flooding component has its large text, and the length of that. Results go below it.
const LARGE: u32 = 1 << 20;
const RESULTS: u32 = 1 << 18;
const NAMES: ManglingAndAbi = ManglingAndAbi::Legacy(LiftLowerAbi::Sync);

/// How a guest without grants gets a handle: resource, interface, function.
const SOURCES: &[(&str, &str, &str)] = &[
    ("fields", "wasi:http/types", "[constructor]fields"),
    ("input-stream", "wasi:cli/stdin", "get-stdin"),
    ("network", "wasi:sockets/instance-network", "instance-network"),
    ("outgoing-body", "wasi:http/types", "[method]outgoing-request.body"),
    ("outgoing-request", "wasi:http/types", "[constructor]outgoing-request"),
    ("outgoing-response", "wasi:http/types", "[constructor]outgoing-response"),
    ("output-stream", "wasi:cli/stdout", "get-stdout"),
    ("pollable", "wasi:clocks/monotonic-clock", "subscribe-duration"),
    ("request-options", "wasi:http/types", "[constructor]request-options"),
    ("tcp-socket", "wasi:sockets/tcp-create-socket", "create-tcp-socket"),
    ("udp-socket", "wasi:sockets/udp-create-socket", "create-udp-socket"),
];

/// Meaningful values for string parameters, by the name of the parameter.
const TEXTS: &[(&str, &str)] = &[
    ("url", "https://example.com/"),
    ("uri", "note:audit"),
    ("schema", "{\"type\":\"object\",\"properties\":{}}"),
    ("data", "{}"),
    ("payload", "{}"),
    ("name", "audit.run"),
];

/// A function of some interface.
#[derive(Debug, Clone)]
pub struct Import {
    key: WorldKey,
    function: Target,
    /// Such as `wasi:cli/stdin get-stdin`, without a version.
    pub name: String,
}

#[derive(Debug, Clone)]
enum Target {
    Function(Box<Function>),
    Drop(TypeId),
}

/// All interfaces that a guest can import from.
pub struct Universe {
    wit: Resolve,
    world: WorldId,
    sizes: SizeAlign,
    /// A local port, for functions that need an address.
    port: u16,
}

impl Universe {
    /// Reads our interface and WASI's, in the versions of the host's dependencies.
    pub fn new(port: u16) -> Self {
        let mut wit = Resolve { all_features: true, ..Resolve::default() };
        wit.push_dir(paths::root().join("wit/v0.1")).unwrap_or_else(|error| panic!("{error:#}"));
        wit.push_dir(wasi()).unwrap_or_else(|error| panic!("{error:#}"));
        let mut text = String::from("package audit:probe;\nworld probe { include portcullis:plugin/plugin@0.1.0;\n");
        for package in wit.packages.iter().map(|(_, package)| package) {
            let of_use = |name: &String| package.name.namespace == "wasi" || name == "log";
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

    /// The component that calls the function and logs `mark` and the result.
    pub fn component(&self, import: &Import, mark: &str) -> Vec<u8> {
        let (call, Writer { imports, before, .. }) = self.target_call(import, false);
        let (start, length) = (3072 + mark.len(), mark.len() as u32 + 2 * SEEN);
        let text = |(at, (_, text)): (usize, &(&str, &str))| {
            format!("(data (i32.const {}) \"{}\")", text_at(at), text.replace('"', "\\\""))
        };
        let texts: String = TEXTS.iter().enumerate().map(text).collect();
        let behaviour = format!(
            r#"(data (i32.const 3072) "{mark}") {texts}
            (func $digit (param $n i32) (result i32)
              (i32.add (local.get $n) (select (i32.const 48) (i32.const 87) (i32.lt_u (local.get $n) (i32.const 10)))))
            (func $run (local $at i32) (local $byte i32)
              {before} {call}
              (loop $next
                (local.set $byte (i32.load8_u (i32.add (i32.const {BACK}) (local.get $at))))
                (i32.store8 (i32.add (i32.const {start}) (i32.mul (local.get $at) (i32.const 2)))
                  (call $digit (i32.shr_u (local.get $byte) (i32.const 4))))
                (i32.store8 (i32.add (i32.const {}) (i32.mul (local.get $at) (i32.const 2)))
                  (call $digit (i32.and (local.get $byte) (i32.const 15))))
                (local.set $at (i32.add (local.get $at) (i32.const 1)))
                (br_if $next (i32.lt_u (local.get $at) (i32.const {SEEN}))))
              (call $say (i32.const 1) (i32.const 3072) (i32.const {length})))"#,
            start + 1
        );
        let log = r#"(import "portcullis:plugin/log@0.1.0" "write" (func $say (param i32 i32 i32)))"#;
        let text = forge::framed(&behaviour).replacen("(module", &format!("(module {log} {imports}"), 1);
        forge::encode(&text, &self.wit, self.world)
    }

    /// A component that calls the function so many times with the largest texts it takes and with new handles, and drops
    /// none of them.
    pub fn flood(&self, import: &Import, rounds: u32) -> Vec<u8> {
        let (call, Writer { imports, before, .. }) = self.target_call(import, true);
        let behaviour = format!(
            r#"(memory (export "memory") 48)
            (func $run (local $round i32)
              (memory.fill (i32.const {LARGE}) (i32.const 97) (i32.const {LARGE}))
              (loop $again
                (global.set $free (i32.const {RESULTS}))
                {before} {call}
                (local.set $round (i32.add (local.get $round) (i32.const 1)))
                (br_if $again (i32.lt_u (local.get $round) (i32.const {rounds})))))"#
        );
        let text = forge::framed(&behaviour).replacen("(module", &format!("(module {imports}"), 1);
        forge::encode(&text, &self.wit, self.world)
    }

    /// The code of the call, and what it needs.
    fn target_call(&self, import: &Import, large: bool) -> (String, Writer<'_>) {
        let (imports, before, made) = Default::default();
        let mut writer = Writer { universe: self, large, imports, before, made };
        let call = match &import.function {
            Target::Function(function) => writer.call("$target", &import.key, function),
            Target::Drop(resource) => {
                let what = WasmImport::ResourceIntrinsic {
                    interface: Some(&import.key),
                    resource: *resource,
                    intrinsic: ResourceIntrinsic::ImportedDrop,
                };
                writer.import("$target", what, &[WasmType::I32], &[]);
                format!("(call $target {})", writer.handle(*resource))
            }
        };
        (call, writer)
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

    fn kind(&self, ty: &Type) -> Option<&TypeDefKind> {
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

/// Writes the module of one component.
struct Writer<'a> {
    universe: &'a Universe,
    /// Whether texts and numbers are as large as they may be.
    large: bool,
    imports: String,
    /// Code that creates handles before the call.
    before: String,
    made: Vec<String>,
}

impl Writer<'_> {
    fn import(&mut self, local: &str, what: WasmImport<'_>, params: &[WasmType], results: &[WasmType]) {
        let (module, name) = self.universe.wit.wasm_import_name(NAMES, what);
        let list = |types: &[WasmType]| types.iter().map(|ty| flat(*ty)).collect::<Vec<_>>().join(" ");
        let (params, results) = (list(params), list(results));
        let _ = write!(self.imports, "(import {module:?} {name:?} (func {local} (param {params}) (result {results})))");
    }

    /// Imports a function. Returns the code that calls it and stores the result at [`BACK`].
    fn call(&mut self, local: &str, key: &WorldKey, function: &Function) -> String {
        let signature = self.universe.wit.wasm_signature(AbiVariant::GuestImport, function);
        self.import(
            local,
            WasmImport::Func { interface: Some(key), func: function },
            &signature.params,
            &signature.results,
        );
        let mut arguments: Vec<String> = match signature.indirect_params {
            true => vec![format!("(i32.const {ZEROS})")],
            false => function.params.iter().flat_map(|param| self.argument(&param.name, &param.ty)).collect(),
        };
        if signature.retptr {
            arguments.push(format!("(i32.const {BACK})"));
        }
        let call = format!("(call {local} {})", arguments.join(" "));
        match signature.results.first() {
            Some(ty) => format!("({}.store (i32.const {BACK}) {call})", flat(*ty)),
            None => call,
        }
    }

    /// The flattened argument of that name: a value that would have an effect if the call were allowed.
    fn argument(&mut self, name: &str, ty: &Type) -> Vec<String> {
        let text = TEXTS.iter().position(|(of, _)| *of == name).filter(|_| matches!(ty, Type::String) && !self.large);
        match text {
            Some(at) => vec![format!("(i32.const {})", text_at(at)), format!("(i32.const {})", TEXTS[at].1.len())],
            None => self.arguments(ty),
        }
    }

    /// Small values of a type, flattened.
    fn arguments(&mut self, ty: &Type) -> Vec<String> {
        let wit = &self.universe.wit;
        let name = match ty {
            Type::Id(id) => wit.types[*id].name.as_deref().unwrap_or_default(),
            _ => "",
        };
        let (at, length, number) = if self.large { (LARGE, LARGE, 1 << 20) } else { (256, 3, 8) };
        let some_text = || vec![format!("(i32.const {at})"), format!("(i32.const {length})")];
        match (ty, self.universe.kind(ty)) {
            (Type::String, _) => some_text(),
            (Type::U64, _) => vec![format!("(i64.const {number})")],
            (_, Some(TypeDefKind::Option(inner))) if self.large => {
                let inner = *inner;
                [vec!["(i32.const 1)".to_owned()], self.arguments(&inner)].concat()
            }
            // The last case of these is any other word.
            (_, Some(TypeDefKind::Variant(cases))) if self.large && matches!(name, "method" | "scheme") => {
                [vec![format!("(i32.const {})", cases.cases.len() - 1)], some_text()].concat()
            }
            (Type::Char, _) => vec!["(i32.const 65)".into()],
            (_, Some(TypeDefKind::List(Type::U8))) => some_text(),
            // One element, of zeros.
            (_, Some(TypeDefKind::List(_))) => vec![format!("(i32.const {ZEROS})"), "(i32.const 1)".into()],
            (_, Some(TypeDefKind::Handle(Handle::Own(resource) | Handle::Borrow(resource)))) => {
                let resource = *resource;
                vec![self.handle(resource)]
            }
            (_, Some(TypeDefKind::Record(record))) => {
                let fields: Vec<_> = record.fields.iter().map(|field| (field.name.clone(), field.ty)).collect();
                fields.iter().flat_map(|(name, ty)| self.argument(name, ty)).collect()
            }
            (_, Some(TypeDefKind::Tuple(tuple))) => {
                let types = tuple.types.clone();
                types.iter().flat_map(|ty| self.arguments(ty)).collect()
            }
            _ => {
                let mut room = [WasmType::I32; 64];
                let mut types = FlatTypes::new(&mut room);
                wit.push_flat(ty, &mut types);
                let mut values: Vec<_> = types.to_vec().iter().map(|ty| format!("({}.const 0)", flat(*ty))).collect();
                if name == "ip-socket-address" {
                    for (at, value) in [self.universe.port, 127, 0, 0, 1].into_iter().enumerate() {
                        values[1 + at] = format!("(i32.const {value})");
                    }
                }
                values
            }
        }
    }

    /// A handle to such a resource, or zero, which is invalid, if a guest cannot get one.
    fn handle(&mut self, resource: TypeId) -> String {
        let wit = &self.universe.wit;
        let mut resource = &wit.types[resource];
        while let TypeDefKind::Type(Type::Id(of)) = resource.kind {
            resource = &wit.types[of];
        }
        let name = resource.name.clone().unwrap_or_default();
        let Some((_, interface, function)) = SOURCES.iter().find(|(of, ..)| *of == name) else {
            return "(i32.const 0)".into();
        };
        if !self.made.contains(&name) {
            self.made.push(name.clone());
            let all = self.universe.imports();
            let wanted = format!("{interface} {function}");
            let source = all.iter().find(|import| import.name == wanted).expect("a source of handles is a function");
            let Target::Function(function) = &source.function else {
                unreachable!("a source of handles is a function")
            };
            let fallible =
                matches!(function.result.as_ref().and_then(|ty| self.universe.kind(ty)), Some(TypeDefKind::Result(_)));
            let call = self.call(&format!("$make-{name}"), &source.key, function);
            let kept = match fallible {
                // Zero if the function was refused.
                true => format!(
                    "(select (i32.const 0) (i32.load (i32.const {})) (i32.load8_u (i32.const {BACK})))",
                    BACK + 4
                ),
                false => format!("(i32.load (i32.const {BACK}))"),
            };
            let at = self.place(&name);
            let _ = write!(
                self.before,
                "{call} (i32.store (i32.const {at}) {kept}) (i64.store (i32.const {BACK}) (i64.const 0))"
            );
        }
        format!("(i32.load (i32.const {}))", self.place(&name))
    }

    /// The address where a handle is stored.
    fn place(&self, name: &str) -> usize {
        1536 + 4 * SOURCES.iter().position(|(of, ..)| *of == name).unwrap_or_default()
    }
}

/// The address of a text of [`TEXTS`].
fn text_at(at: usize) -> usize {
    3500 + 64 * at
}

fn flat(ty: WasmType) -> &'static str {
    match ty {
        WasmType::I32 | WasmType::Pointer | WasmType::Length => "i32",
        WasmType::I64 | WasmType::PointerOrI64 => "i64",
        WasmType::F32 => "f32",
        WasmType::F64 => "f64",
    }
}
