//! Writes the module of one component: the call of a function, and what creates its arguments.

use super::universe::{Target, Universe};
use std::fmt::Write as _;
use wit_parser::abi::{AbiVariant, FlatTypes, WasmType};
use wit_parser::{
    ArchitectureSize, Function, Handle, Int, LiftLowerAbi, ManglingAndAbi, Type, TypeDefKind, TypeId, WasmImport,
    WorldKey,
};

/// The address of the result, and how many of its bytes are logged.
pub(super) const BACK: u32 = 2048;
pub(super) const SEEN: u32 = 32;
/// The address of zeros, for elements of lists and for arguments that are too many to be passed separately.
pub(super) const ZEROS: u32 = 65536;
/// Where a flooding component has its large text, and the length of that. Results go below it.
pub(super) const LARGE: u32 = 1 << 20;
pub(super) const RESULTS: u32 = 1 << 18;
pub(super) const NAMES: ManglingAndAbi = ManglingAndAbi::Legacy(LiftLowerAbi::Sync);

/// Where a flooding component has parameters that are too many to be passed separately.
pub(super) const PARAMS: u32 = 1 << 17;
/// How a guest gets a handle: resource, interface, function. A descriptor and what comes from it needs a grant.
pub(super) const SOURCES: &[(&str, &str, &str)] = &[
    ("descriptor", "wasi:filesystem/preopens", "get-directories"),
    ("directory-entry-stream", "wasi:filesystem/types", "[method]descriptor.read-directory"),
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
pub(super) const TEXTS: &[(&str, &str)] = &[
    ("url", "https://example.com/"),
    ("uri", "note:audit"),
    ("schema", "{\"type\":\"object\",\"properties\":{}}"),
    ("data", "{}"),
    ("payload", "{}"),
    ("name", "audit.run"),
    ("path", "."),
];

/// Writes the module of one component.
pub(super) struct Writer<'a> {
    pub(super) universe: &'a Universe,
    /// Whether texts and numbers are as large as they may be.
    pub(super) large: bool,
    /// Whether the function is one of files and directories.
    pub(super) of_files: bool,
    pub(super) imports: String,
    /// What lies in its memory.
    pub(super) data: String,
    /// Code that creates handles before the call.
    pub(super) before: String,
    pub(super) made: Vec<String>,
}

impl Writer<'_> {
    pub(super) fn import(&mut self, local: &str, what: WasmImport<'_>, params: &[WasmType], results: &[WasmType]) {
        let (module, name) = self.universe.wit.wasm_import_name(NAMES, what);
        let list = |types: &[WasmType]| types.iter().map(|ty| flat(*ty)).collect::<Vec<_>>().join(" ");
        let (params, results) = (list(params), list(results));
        let _ = write!(self.imports, "(import {module:?} {name:?} (func {local} (param {params}) (result {results})))");
    }

    /// Imports a function. Returns the code that calls it and stores the result at [`BACK`].
    pub(super) fn call(&mut self, local: &str, key: &WorldKey, function: &Function) -> String {
        let signature = self.universe.wit.wasm_signature(AbiVariant::GuestImport, function);
        self.import(
            local,
            WasmImport::Func { interface: Some(key), func: function },
            &signature.params,
            &signature.results,
        );
        let mut arguments: Vec<String> = match signature.indirect_params {
            true if self.large => {
                let types: Vec<Type> = function.params.iter().map(|param| param.ty).collect();
                let fields = self.universe.sizes.field_offsets(&types);
                let stores: String = fields.iter().map(|(at, ty)| self.stores(PARAMS + bytes(*at), ty)).collect();
                self.before += &stores;
                vec![format!("(i32.const {PARAMS})")]
            }
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

    /// Code that stores a value of a type at an address, as its flattened form would be passed.
    fn stores(&mut self, at: u32, ty: &Type) -> String {
        let sizes = &self.universe.sizes;
        let parts = |fields: Vec<(ArchitectureSize, &Type)>| {
            fields.into_iter().map(|(offset, ty)| (at + bytes(offset), *ty)).collect::<Vec<_>>()
        };
        let case = |number: usize, cases: &[Option<&Type>], payload: Option<Type>| {
            let offset = bytes(sizes.payload_offset(Int::U8, cases.iter().copied()));
            (format!("(i32.store8 (i32.const {at}) (i32.const {number}))"), payload.map(|ty| (at + offset, ty)))
        };
        let (mut code, inner) = match self.universe.kind(ty) {
            Some(TypeDefKind::Record(record)) => {
                (String::new(), parts(sizes.field_offsets(record.fields.iter().map(|field| &field.ty))))
            }
            Some(TypeDefKind::Tuple(tuple)) => (String::new(), parts(sizes.field_offsets(&tuple.types))),
            Some(TypeDefKind::Option(inner)) => {
                let (code, payload) = case(1, &[None, Some(inner)], Some(*inner));
                (code, payload.into_iter().collect())
            }
            // The last case that has a value.
            Some(TypeDefKind::Variant(variant)) => {
                let cases: Vec<_> = variant.cases.iter().map(|case| case.ty.as_ref()).collect();
                let number = cases.iter().rposition(Option::is_some).unwrap_or_default();
                let (code, payload) = case(number, &cases, cases.get(number).copied().flatten().copied());
                (code, payload.into_iter().collect())
            }
            Some(TypeDefKind::Flags(_) | TypeDefKind::Enum(_)) | None if !matches!(ty, Type::String | Type::U64) => {
                return String::new();
            }
            // A text or a list is its address and its length.
            _ => {
                let stored = |(number, value): (usize, &String)| {
                    format!("(i32.store (i32.const {}) {value})", at + 4 * number as u32)
                };
                return match ty {
                    Type::U64 => format!("(i64.store (i32.const {at}) {})", self.arguments(ty).concat()),
                    _ => self.arguments(ty).iter().enumerate().map(stored).collect(),
                };
            }
        };
        for (at, ty) in inner {
            code += &self.stores(at, &ty);
        }
        code
    }

    /// The flattened argument of that name: a value that would have an effect if the call were allowed.
    fn argument(&mut self, name: &str, ty: &Type) -> Vec<String> {
        // A flooding component opens its own folder again and again: a long path would only be refused.
        let is_small = !self.large || (self.of_files && name == "path");
        let text = TEXTS.iter().position(|(of, _)| *of == name).filter(|_| matches!(ty, Type::String) && is_small);
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
            (_, Some(TypeDefKind::List(element))) if self.large && self.resource(element).is_some() => {
                let at = self.resource(element).and_then(|resource| self.handle_at(resource)).unwrap_or(ZEROS);
                vec![format!("(i32.const {at})"), "(i32.const 1)".to_owned()]
            }
            // Elements of zeros, which are valid values of all types but handles.
            (_, Some(TypeDefKind::List(element))) => {
                let size = bytes(self.universe.sizes.size(element)).max(1);
                let number = if self.large { (PARAMS - ZEROS) / size } else { 1 };
                vec![format!("(i32.const {ZEROS})"), format!("(i32.const {number})")]
            }
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

    /// The resource of a type of handles.
    fn resource(&self, ty: &Type) -> Option<TypeId> {
        match self.universe.kind(ty)? {
            TypeDefKind::Handle(Handle::Own(resource) | Handle::Borrow(resource)) => Some(*resource),
            _ => None,
        }
    }

    /// A handle to such a resource, or zero, which is invalid, if a guest cannot get one.
    pub(super) fn handle(&mut self, resource: TypeId) -> String {
        self.handle_at(resource).map_or("(i32.const 0)".into(), |at| format!("(i32.load (i32.const {at}))"))
    }

    /// The address where the handle is stored.
    fn handle_at(&mut self, resource: TypeId) -> Option<u32> {
        let wit = &self.universe.wit;
        let mut resource = &wit.types[resource];
        while let TypeDefKind::Type(Type::Id(of)) = resource.kind {
            resource = &wit.types[of];
        }
        let name = resource.name.clone().unwrap_or_default();
        if self.large
            && let Some(at) = self.answer_handle(&name)
        {
            return Some(at);
        }
        let (_, interface, function) = SOURCES.iter().find(|(of, ..)| *of == name)?;
        if !self.made.contains(&name) {
            self.made.push(name.clone());
            let all = self.universe.imports();
            let wanted = format!("{interface} {function}");
            let source = all.iter().find(|import| import.name == wanted).expect("a source of handles is a function");
            let Target::Function(function) = &source.function else {
                unreachable!("a source of handles is a function")
            };
            let kind = function.result.as_ref().and_then(|ty| self.universe.kind(ty));
            let (fallible, listed) =
                (matches!(kind, Some(TypeDefKind::Result(_))), matches!(kind, Some(TypeDefKind::List(_))));
            let call = self.call(&format!("$make-{name}"), &source.key, function);
            let kept = match (fallible, listed) {
                // Zero if the function was refused.
                (true, _) => format!(
                    "(select (i32.const 0) (i32.load (i32.const {})) (i32.load8_u (i32.const {BACK})))",
                    BACK + 4
                ),
                // The first of a list, or zero.
                (_, true) => format!(
                    "(select (i32.load (i32.load (i32.const {BACK}))) (i32.const 0) (i32.load (i32.const {})))",
                    BACK + 4
                ),
                _ => format!("(i32.load (i32.const {BACK}))"),
            };
            let at = self.place(&name);
            let _ = write!(
                self.before,
                "{call} (i32.store (i32.const {at}) {kept}) (i64.store (i32.const {BACK}) (i64.const 0))"
            );
            // A flood goes on until it gets no more of them.
            if self.large {
                let _ = write!(
                    self.before,
                    "(br_if $full (i32.and (i32.eqz (i32.load (i32.const {at}))) (i32.ne (local.get $round) (i32.const 0))))"
                );
            }
        }
        Some(self.place(&name))
    }

    /// The address where a handle is stored.
    fn place(&self, name: &str) -> u32 {
        1536 + 4 * SOURCES.iter().position(|(of, ..)| *of == name).unwrap_or_default() as u32
    }
}

/// A size in the memory of a component.
fn bytes(size: ArchitectureSize) -> u32 {
    u32::try_from(size.size_wasm32()).unwrap_or(u32::MAX)
}

fn flat(ty: WasmType) -> &'static str {
    match ty {
        WasmType::I32 | WasmType::Pointer | WasmType::Length => "i32",
        WasmType::I64 | WasmType::PointerOrI64 => "i64",
        WasmType::F32 => "f32",
        WasmType::F64 => "f64",
    }
}

/// The address of a text of [`TEXTS`].
pub(super) fn text_at(at: usize) -> usize {
    3500 + 64 * at
}

/// The texts of [`TEXTS`] as data of a module.
pub(super) fn texts() -> String {
    let text = |(at, (_, text)): (usize, &(&str, &str))| {
        format!("(data (i32.const {}) \"{}\")", text_at(at), text.replace('"', "\\\""))
    };
    TEXTS.iter().enumerate().map(text).collect()
}
