//! Generates one component for each function that a guest can import. The component calls the function once, with the
//! handles that a guest without grants can get, and logs the result. The functions come from the WIT of our interface
//! and of all of WASI 0.2, so that none is missed.

mod answers;
mod universe;
mod writer;

use crate::forge;
use universe::Target;
pub use universe::{Import, Universe};
use wit_parser::abi::WasmType;
use wit_parser::{ResourceIntrinsic, WasmImport};
use writer::{BACK, LARGE, RESULTS, SEEN, Writer, texts};

impl Universe {
    /// The component that calls the function and logs `mark` and the result.
    pub fn component(&self, import: &Import, mark: &str) -> Vec<u8> {
        let (call, Writer { imports, before, .. }) = self.target_call(import, false);
        let (start, length) = (3072 + mark.len(), mark.len() as u32 + 2 * SEEN);
        let texts = texts();
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
    /// none of them. Some handles come from a server at the port.
    pub fn flood(&self, import: &Import, rounds: u32) -> Vec<u8> {
        let (call, Writer { imports, before, data, .. }) = self.target_call(import, true);
        let texts = texts() + &data;
        let behaviour = format!(
            r#"(memory (export "memory") 48) {texts}
            (func $run (local $round i32)
              (memory.fill (i32.const {LARGE}) (i32.const 97) (i32.const {LARGE}))
              (block $full (loop $again
                (global.set $free (i32.const {RESULTS}))
                {before} {call}
                (local.set $round (i32.add (local.get $round) (i32.const 1)))
                (br_if $again (i32.lt_u (local.get $round) (i32.const {rounds}))))))"#
        );
        let text = forge::framed(&behaviour).replacen("(module", &format!("(module {imports}"), 1);
        forge::encode(&text, &self.wit, self.world)
    }

    /// The code of the call, and what it needs.
    fn target_call(&self, import: &Import, large: bool) -> (String, Writer<'_>) {
        let (imports, data, before, made) = Default::default();
        let of_files = import.name.starts_with("wasi:filesystem/");
        let mut writer = Writer { universe: self, large, of_files, imports, data, before, made };
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
}
