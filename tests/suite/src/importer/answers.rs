//! How a flooding component gets the handles that only the answer of another server gives: it sends requests to a local
//! server that breaks off its answers, waits, and reads until the error.

use super::universe::Target;
use super::writer::{BACK, Writer};
use wit_parser::WasmImport;
use wit_parser::abi::AbiVariant;

/// Where the code has a path and the server's address, as in `/127.0.0.1:80`, and a handle that it uses at once.
const PATH: u32 = 4000;
const AUTHORITY: u32 = PATH + 1;
const SCRATCH: u32 = 1700;
/// Where it has the handles of [`RESOURCES`].
const HANDLES: u32 = 1720;

/// Resources that come from an answer, each from the one before.
const RESOURCES: [&str; 5] =
    ["future-incoming-response", "incoming-response", "incoming-body", "future-trailers", "error"];

impl Writer<'_> {
    /// The address of a handle to this resource, made anew in each round; none if an answer does not give it.
    pub(super) fn answer_handle(&mut self, resource: &str) -> Option<u32> {
        let number = RESOURCES.iter().position(|name| *name == resource)?;
        let at = HANDLES + 4 * u32::try_from(number).unwrap_or_default();
        if self.made.iter().any(|made| made == resource) {
            return Some(at);
        }
        self.made.push(resource.to_owned());
        let back = |offset: u32| format!("(i32.const {})", BACK + offset);
        // The handle behind `offset` of a result, if these bytes of the result are as they must be.
        let kept = |bytes: &[(u32, u32)], offset: u32| {
            let right: String = bytes.iter().fold("(i32.const 1)".to_owned(), |all, (at, byte)| {
                format!("(i32.and {all} (i32.eq (i32.load8_u {}) (i32.const {byte})))", back(*at))
            });
            format!("(if {right} (then (i32.store (i32.const {at}) (i32.load {}))))", back(offset))
        };
        let code = match resource {
            "future-incoming-response" => {
                let [fields, request] =
                    ["fields", "outgoing-request"].map(|name| self.http(&format!("[constructor]{name}")));
                let [scheme, authority, path] = ["scheme", "authority", "path-with-query"]
                    .map(|part| self.http(&format!("[method]outgoing-request.set-{part}")));
                let handle = self.imported("wasi:http/outgoing-handler", "handle");
                let address = format!("127.0.0.1:{}", self.universe.port);
                self.data += &format!("(data (i32.const {PATH}) \"/{address}\")");
                let made = format!("(i32.load (i32.const {SCRATCH}))");
                format!(
                    "(i32.store (i32.const {SCRATCH}) (call {request} (call {fields})))
                    (drop (call {scheme} {made} (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)))
                    (drop (call {authority} {made} (i32.const 1) (i32.const {AUTHORITY}) (i32.const {})))
                    (drop (call {path} {made} (i32.const 1) (i32.const {PATH}) (i32.const 1)))
                    (call {handle} {made} (i32.const 0) (i32.const 0) {}) {}",
                    address.len(),
                    back(0),
                    kept(&[(0, 0)], 8)
                )
            }
            "incoming-response" => {
                let future = self.answered("future-incoming-response");
                let [subscribe, get] =
                    ["subscribe", "get"].map(|name| self.http(&format!("[method]future-incoming-response.{name}")));
                let block = self.imported("wasi:io/poll", "[method]pollable.block");
                let kept = kept(&[(0, 1), (8, 0), (16, 0)], 24);
                format!("(call {block} (call {subscribe} {future})) (call {get} {future} {}) {kept}", back(0))
            }
            "incoming-body" => {
                let response = self.answered("incoming-response");
                let consume = self.http("[method]incoming-response.consume");
                format!("(call {consume} {response} {}) {}", back(0), kept(&[(0, 0)], 4))
            }
            "future-trailers" => {
                let body = self.answered("incoming-body");
                let finish = self.http("[static]incoming-body.finish");
                format!("(i32.store (i32.const {at}) (call {finish} {body}))")
            }
            _ => {
                let body = self.answered("incoming-body");
                let stream = self.http("[method]incoming-body.stream");
                let read = self.imported("wasi:io/streams", "[method]input-stream.blocking-read");
                let scratch = format!("(i32.load (i32.const {SCRATCH}))");
                format!(
                    "(call {stream} {body} {0}) (i32.store (i32.const {SCRATCH}) (i32.load {1}))
                    (loop $more (call {read} {scratch} (i64.const 4096) {0}) (br_if $more (i32.eqz (i32.load8_u {0})))) {2}",
                    back(0),
                    back(4),
                    kept(&[(0, 1), (4, 0)], 8)
                )
            }
        };
        // A flood goes on until it gets no more of them.
        self.before += &format!(
            "(i32.store (i32.const {at}) (i32.const 0)) {code}
            (br_if $full (i32.and (i32.eqz (i32.load (i32.const {at}))) (i32.ne (local.get $round) (i32.const 0))))"
        );
        Some(at)
    }

    fn answered(&mut self, resource: &str) -> String {
        format!("(i32.load (i32.const {}))", self.answer_handle(resource).unwrap_or_default())
    }

    fn http(&mut self, function: &str) -> String {
        self.imported("wasi:http/types", function)
    }

    /// Imports a function under a name of its own.
    fn imported(&mut self, interface: &str, function: &str) -> String {
        let wanted = format!("{interface} {function}");
        let local = format!("$answer-{}", function.replace(['[', ']', '.'], "-"));
        let found = self.universe.imports().into_iter().find(|import| import.name == wanted);
        let Some((key, Target::Function(function))) = found.map(|import| (import.key, import.function)) else {
            unreachable!("{wanted} is a function")
        };
        let signature = self.universe.wit.wasm_signature(AbiVariant::GuestImport, &function);
        let what = WasmImport::Func { interface: Some(&key), func: &function };
        self.import(&local, what, &signature.params, &signature.results);
        local
    }
}
