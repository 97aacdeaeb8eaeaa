//! Plugins written by hand in the text format, which no compiler would produce.

use crate::paths;
use std::fs;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, WorldId};

/// The behaviour of that name in `tests/guests/wat`, as a component.
pub fn behaviour(name: &str) -> Vec<u8> {
    let path = paths::root().join("tests/guests/wat").join(format!("{name}.wat"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    plugin(&text)
}

/// A plugin whose tool runs the function `$run` of this text.
pub fn plugin(behaviour: &str) -> Vec<u8> {
    component(&framed(behaviour))
}

/// The same, with this input schema.
pub fn with_schema(behaviour: &str, schema: &str) -> Vec<u8> {
    // An address far above those that the frame's allocator returns.
    let (at, length) = (0x0001_0000_u32, u32::try_from(schema.len()).unwrap_or(u32::MAX));
    let bytes = |number: u32| number.to_le_bytes().map(|byte| format!("\\{byte:02x}")).concat();
    let text: String = schema.bytes().map(|byte| format!("\\{byte:02x}")).collect();
    let pages = 2 + schema.len() / (64 << 10);
    let frame = framed(behaviour)
        .replace("\"\\20\\01\\00\\00\\11\\00\\00\\00\"", &format!("\"{}{}\"", bytes(at), bytes(length)))
        .replace("(memory (export \"memory\") 2)", &format!("(memory (export \"memory\") {pages})"))
        .replace("(data (i32.const 272)", &format!("(data (i32.const {at}) \"{text}\")\n  (data (i32.const 272)"));
    component(&frame)
}

/// A plugin with two tools of these names.
pub fn with_names(one: &str, other: &str) -> Vec<u8> {
    // The names are far above the addresses that the frame's allocator returns.
    const AT: [u32; 2] = [0x0001_0000, 0x0001_1000];
    let bytes = |number: u32| number.to_le_bytes().map(|byte| format!("\\{byte:02x}")).concat();
    let place = |at: u32, name: &str| {
        let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
        format!("\"{}{}\"", bytes(at), bytes(length))
    };
    let frame = framed("(func $run)");
    let (begin, end) = ("\"\\00\\01\\00\\00\\03\\00\\00\\00\"", ")                     ;; inline");
    let tool = frame.split_once(begin).and_then(|(_, tool)| tool.split_once(end));
    let (tool, _) = tool.unwrap_or_else(|| panic!("the frame has no tool"));
    // The second tool has everything but its name from the first one.
    let tools = format!("{}{tool}\n    {}{tool}{end}", place(AT[0], one), place(AT[1], other));
    let names = format!("  (data (i32.const {}) {one:?})\n  (data (i32.const {}) {other:?})\n", AT[0], AT[1]);
    let frame = frame
        .replace("\"\\40\\00\\00\\00\\01\\00\\00\\00\"", "\"\\40\\00\\00\\00\\02\\00\\00\\00\"")
        .replace(&format!("{begin}{tool}{end}"), &tools)
        .replace("  (data (i32.const 256)", &format!("{names}  (data (i32.const 256)"));
    component(&frame)
}

/// The frame around a behaviour, which may replace parts of the frame.
pub fn framed(behaviour: &str) -> String {
    let path = paths::root().join("tests/guests/wat/frame.wat");
    let mut frame = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if behaviour.contains("(memory (export \"memory\")") {
        frame = frame.replace("(memory (export \"memory\") 2)", "");
    }
    if behaviour.contains("(func (export \"cabi_realloc\")") {
        let (start, end) = ("  (func (export \"cabi_realloc\")", "  (func (export \"portcullis:");
        let (start, end) = (frame.find(start).unwrap_or_default(), frame.find(end).unwrap_or_default());
        frame.replace_range(start..end, "");
    }
    // Imports come before everything else.
    let (imports, rest): (Vec<_>, Vec<_>) = behaviour.lines().partition(|line| line.starts_with("(import "));
    frame.replace("(module\n", &format!("(module\n{}\n", imports.join("\n"))).replace(";; BEHAVIOUR", &rest.join("\n"))
}

/// An extra export with its own resource type, which no real plugin needs.
const OWN: &str = "package hostile:mine;
interface things { resource thing { constructor(); } }
world hostile { include portcullis:plugin/plugin@0.1.0; export things; }";

fn component(text: &str) -> Vec<u8> {
    let mut wit = Resolve::default();
    let (package, _) = wit.push_dir(paths::root().join("wit/v0.1")).unwrap_or_else(|error| panic!("{error:#}"));
    let (package, world) = match text.contains("hostile:mine/things") {
        true => (wit.push_str("own.wit", OWN).unwrap_or_else(|error| panic!("{error:#}")), "hostile"),
        false => (package, "plugin"),
    };
    let world = wit.select_world(&[package], Some(world)).unwrap_or_else(|error| panic!("{error:#}"));
    encode(text, &wit, world)
}

/// A component of this module for this world.
pub fn encode(module: &str, wit: &Resolve, world: WorldId) -> Vec<u8> {
    let mut module = wat::parse_str(module).unwrap_or_else(|error| panic!("{error}"));
    embed_component_metadata(&mut module, wit, world, StringEncoding::UTF8).unwrap_or_else(|error| panic!("{error:#}"));
    let mut encoder = ComponentEncoder::default();
    let component = encoder.module(&module).and_then(|encoder| encoder.encode());
    component.unwrap_or_else(|error| panic!("{error:#}"))
}

/// Adds a module with one page of memory that is instantiated `times` times.
pub fn repeated(component: &[u8], times: u32) -> Vec<u8> {
    const MODULE: u8 = 1;
    const INSTANCES: u8 = 2;
    let modules = sections(component).into_iter().filter(|id| *id == MODULE).count();
    let module = wat::parse_str("(module (memory 1))").unwrap_or_else(|error| panic!("{error}"));
    let mut instances = number(times);
    for _ in 0..times {
        instances.push(0);
        instances.extend(number(u32::try_from(modules).unwrap_or(u32::MAX)));
        instances.push(0);
    }
    [component, &section(MODULE, &module), &section(INSTANCES, &instances)].concat()
}

/// A section of a component or a module.
pub fn section(id: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    [&[id], number(length).as_slice(), content].concat()
}

/// A custom section.
pub fn custom(name: &str, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
    section(0, &[number(length).as_slice(), name.as_bytes(), content].concat())
}

/// The section ids of a component, in order.
pub fn sections(component: &[u8]) -> Vec<u8> {
    let (mut rest, mut kinds) = (component.get(8..).unwrap_or_default(), vec![]);
    while let Some((id, after)) = rest.split_first() {
        let width = after.iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
        let length = after.iter().take(width).rev().fold(0, |sum, byte| sum << 7 | usize::from(byte & 0x7f));
        kinds.push(*id);
        rest = after.get(width + length..).unwrap_or_default();
    }
    kinds
}

/// An unsigned number in LEB128.
pub fn number(mut value: u32) -> Vec<u8> {
    let mut bytes = vec![];
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}
