//! Components that must be refused, and bytes that are not components. A separate process checks each.

use super::Row;
use super::fixture::Fixture;
use std::fmt::Write as _;
use std::fs::File;
use suite::{Home, compiled_code, forge, paths};

const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

fn guest(fixture: &Fixture, name: &str) -> String {
    fixture.check_file(&Home::new(), &paths::guest(name))
}

fn forged(fixture: &Fixture, name: &str) -> String {
    fixture.check(&forge::behaviour(name))
}

/// Checks a component in the text format that is not a plugin.
fn text(fixture: &Fixture, text: &str) -> String {
    fixture.check(&wat::parse_str(text).unwrap_or_else(|error| panic!("{error}")))
}

fn with_schema(fixture: &Fixture, schema: &str) -> String {
    fixture.check(&forge::with_schema("(func $run)", schema))
}

/// A valid plugin with these bytes appended.
fn followed_by(more: &[u8]) -> Vec<u8> {
    [forge::plugin("(func $run)").as_slice(), more].concat()
}

/// The opcode that ends a function.
const END: u8 = 0x0b;

/// A valid plugin with one more module of this many equal functions; `code` starts with its length.
fn with_functions(times: u32, code: &[u8]) -> Vec<u8> {
    let types = forge::section(1, &[1, 0x60, 0, 0]);
    let functions = forge::section(3, &[forge::number(times), vec![0; times as usize]].concat());
    let code = forge::section(10, &[forge::number(times), code.repeat(times as usize)].concat());
    followed_by(&forge::section(1, &[b"\0asm\x01\0\0\0", &*types, &functions, &code].concat()))
}

/// Nested components, too deep for the parser of the text format.
fn nested(depth: usize) -> Vec<u8> {
    const COMPONENT: u8 = 4;
    (0..depth).fold(EMPTY.to_vec(), |inner, _| [EMPTY, &forge::section(COMPONENT, &inner)].concat())
}

pub(super) const ROWS: &[Row] = &[
    Row { id: "W9.1", what: "no bytes at all", outcome: "refused: not WebAssembly", run: |g| g.check(b"") },
    Row {
        id: "W9.2",
        what: "a script",
        outcome: "refused: not WebAssembly",
        run: |g| g.check(b"#!/bin/sh\necho owned\n"),
    },
    Row {
        id: "W9.3",
        what: "a program (ELF)",
        outcome: "refused: precompiled",
        run: |g| g.check(b"\x7fELF\x02\x01\x01\0wasmtime"),
    },
    Row {
        id: "W9.4",
        what: "the host's own compiled code",
        outcome: "refused: not WebAssembly",
        run: |g| g.check(&compiled_code()),
    },
    Row { id: "W9.5", what: "a core module", outcome: "refused: core module", run: |g| g.check(b"\0asm\x01\0\0\0") },
    Row {
        id: "W9.6",
        what: "a component of another version of the format",
        outcome: "refused: not a valid component",
        run: |g| g.check(b"\0asm\x0c\0\x01\0"),
    },
    Row {
        id: "W9.7",
        what: "half of a component",
        outcome: "refused: not a valid component",
        run: |g| {
            let whole = forge::plugin("(func $run)");
            g.check(&whole[..whole.len() / 2])
        },
    },
    Row {
        id: "W9.8",
        what: "a byte behind its end",
        outcome: "refused: not a valid component",
        run: |g| g.check(&followed_by(&[1])),
    },
    Row {
        id: "W9.9",
        what: "a section that is longer than the file",
        outcome: "refused: not a valid component",
        run: |g| g.check(&[EMPTY, &[1, 0xff, 0xff, 0xff, 0xff, 0x0f]].concat()),
    },
    Row {
        id: "W9.10",
        what: "a length in more bytes than a number has (LEB padding)",
        outcome: "refused: not a valid component",
        run: |g| g.check(&[EMPTY, &[0, 0x85, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 1, b'x', 0, 0, 0]].concat()),
    },
    Row {
        id: "W9.11",
        what: "a device without end",
        outcome: "refused: not a regular file",
        run: |g| g.check_file(&Home::new(), "/dev/zero".as_ref()),
    },
    Row {
        id: "W9.12",
        what: "a folder",
        outcome: "refused: not a regular file",
        run: |g| g.check_file(&Home::new(), "/".as_ref()),
    },
    Row {
        id: "W9.13",
        what: "two manifests",
        outcome: "refused: there are two of them",
        run: |g| {
            let manifest = br#"{"name":"a","version":"1","description":""}"#;
            let twice =
                [forge::custom("portcullis:manifest", manifest), forge::custom("portcullis:manifest", manifest)]
                    .concat();
            g.check(&followed_by(&twice))
        },
    },
    Row {
        id: "W9.14",
        what: "two versions of the interface",
        outcome: "refused: two API versions",
        run: |g| {
            let twice = [forge::custom("portcullis:api", b"0.1.0"), forge::custom("portcullis:api", b"0.2.0")].concat();
            g.check(&followed_by(&twice))
        },
    },
    Row {
        id: "W8.1",
        what: "100 MiB of nothing",
        outcome: "refused: 64 MiB",
        run: |g| {
            let home = Home::new();
            let path = home.path().join("large.wasm");
            File::create(&path).unwrap().set_len(100 << 20).unwrap();
            g.check_file(&home, &path)
        },
    },
    Row {
        id: "W8.2",
        what: "a quarter of a million functions",
        outcome: "refused: functions",
        run: |g| g.check(&with_functions(250_000, &[2, 0, END])),
    },
    Row {
        id: "W8.3",
        what: "2,000 modules",
        outcome: "refused: nested modules",
        run: |g| text(g, &format!("(component {})", "(core module)".repeat(2_000))),
    },
    Row {
        id: "W8.4",
        what: "components inside components, 400 deep",
        outcome: "refused: nested modules and components",
        run: |g| g.check(&nested(400)),
    },
    Row {
        id: "W8.5",
        what: "100,000 imports, and nothing else",
        outcome: "refused: imports and exports",
        run: |g| {
            let mut imports = forge::number(100_000);
            for number in 0..100_000 {
                let name = format!("a{number}");
                imports.extend([&[0], &*forge::number(name.len() as u32), name.as_bytes(), &[1, 0]].concat());
            }
            let nothing = [1, 0x40, 0, 1, 0];
            g.check(&[EMPTY, &forge::section(7, &nothing), &forge::section(10, &imports)].concat())
        },
    },
    Row {
        id: "W8.6",
        what: "eight million jump targets in one table",
        outcome: "refused: bytes in one function",
        run: |g| {
            let targets = [forge::number(8_000_000), vec![0; 8_000_001]].concat();
            let body = [&[0, 0x41, 0, 0x0e], &*targets, &[END]].concat();
            g.check(&with_functions(1, &[forge::number(body.len() as u32), body].concat()))
        },
    },
    Row {
        id: "W8.7",
        what: "four billion locals in one function",
        outcome: "refused: locals in one function",
        run: |g| g.check(&with_functions(1, &[8, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x7e, END])),
    },
    Row {
        id: "W8.8",
        what: "a type 200 levels deep (GHSA-wjc8)",
        outcome: "refused: does not export",
        run: |g| {
            let mut types = String::from("(type $t0 u8)");
            for number in 1..=200 {
                let _ = write!(types, "(type $t{number} (list $t{}))", number - 1);
            }
            text(g, &format!("(component {types})"))
        },
    },
    Row {
        id: "W8.9",
        what: "10 MiB in a section that nobody reads",
        outcome: "loaded",
        run: |g| g.check(&followed_by(&forge::custom("x", &vec![7; 10 << 20]))),
    },
    Row {
        id: "W3.5",
        what: "a memory of a gigabyte from the start",
        outcome: "refused: exceeds the limit of",
        run: |g| forged(g, "huge-memory"),
    },
    Row {
        id: "W3.6",
        what: "fifty memories",
        outcome: "refused: memories count of 51",
        run: |g| forged(g, "many-memories"),
    },
    Row {
        id: "W3.7",
        what: "shared memory",
        outcome: "refused: not a valid component",
        run: |g| g.check(&forge::plugin("(func $run) (memory 1 1 shared)")),
    },
    Row {
        id: "W3.8",
        what: "a memory of 64-bit addresses",
        outcome: "refused: not a valid component",
        run: |g| g.check(&forge::plugin("(func $run) (memory i64 1)")),
    },
    Row {
        id: "W3.9",
        what: "100 instances with a memory each",
        outcome: "refused: 101 core module instances",
        run: |g| g.check(&forge::repeated(&forge::plugin("(func $run)"), 100)),
    },
    Row {
        id: "W4.6",
        what: "a table of ten million elements from the start",
        outcome: "refused: minimum element size of 10000000",
        run: |g| forged(g, "huge-table"),
    },
    Row { id: "W4.7", what: "fifty tables", outcome: "refused: tables count of 50", run: |g| forged(g, "many-tables") },
    Row {
        id: "W2.5",
        what: "a loop in the start function",
        outcome: "refused: units of fuel are used up",
        run: |g| forged(g, "start-section"),
    },
    Row {
        id: "W2.6",
        what: "a loop in a constructor",
        outcome: "refused: units of fuel are used up",
        run: |g| guest(g, "spin-start"),
    },
    Row {
        id: "W2.7",
        what: "a loop where tools are listed",
        outcome: "refused: units of fuel are used up",
        run: |g| guest(g, "spin-list"),
    },
    Row {
        id: "W2.8",
        what: "a panic where tools are listed",
        outcome: "refused: no tools today",
        run: |g| guest(g, "panic-list"),
    },
    Row {
        id: "W7.9",
        what: "a list of tools larger than the host takes at once",
        outcome: "refused: 8.0 MiB",
        run: |g| guest(g, "giant-list"),
    },
    Row {
        id: "W22.4",
        what: "component-model async, which is not built in",
        outcome: "refused: not a valid component",
        run: |g| {
            let streams = wat::parse_str("(component (type (stream u8)) (core func (canon stream.new 0)))").unwrap();
            g.check(&followed_by(&streams[EMPTY.len()..]))
        },
    },
    Row {
        id: "W22.5",
        what: "an import that the host does not have, passed on as the tools",
        outcome: "refused: reexport of an imported function",
        run: |g| {
            text(
                g,
                "(component (import \"wasi:sockets/raw@0.2.0\" (instance $s (export \"open\" (func)))) (alias export $s \"open\" (func $f)) (instance $t (export \"list-tools\" (func $f))) (export \"portcullis:plugin/tools@0.1.0\" (instance $t)))",
            )
        },
    },
    Row {
        id: "W22.6",
        what: "another version of the interface",
        outcome: "refused: 0.9.0",
        run: |g| guest(g, "wrong-api"),
    },
    Row {
        id: "W22.7",
        what: "a world that is not ours, whose only function gives a resource",
        outcome: "refused: none of its functions can be a tool",
        run: |g| guest(g, "wrong-world"),
    },
    Row {
        id: "W22.8",
        what: "a manifest with words that nobody understands",
        outcome: "refused: unknown field `colour`",
        run: |g| guest(g, "bad-manifest"),
    },
    Row {
        id: "W22.9",
        what: "a manifest that is no JSON",
        outcome: "refused: its manifest is invalid",
        run: |g| guest(g, "broken-manifest"),
    },
    Row { id: "M7.2", what: "two tools of one name", outcome: "refused: two tools", run: |g| guest(g, "twin-tools") },
    Row {
        id: "M7.3",
        what: "a resource in the host's name",
        outcome: "refused: the host's own",
        run: |g| guest(g, "bad-uri"),
    },
    Row { id: "M5.1", what: "a tool name with a space", outcome: "refused: run away", run: |g| guest(g, "bad-name") },
    Row {
        id: "M5.2",
        what: "a tool name of 65 characters",
        outcome: "refused: is not 1 to 64",
        run: |g| guest(g, "long-name"),
    },
    Row {
        id: "M19.1",
        what: "a schema to be fetched over HTTP",
        outcome: "refused: only references into itself",
        run: |g| guest(g, "schema-remote"),
    },
    Row {
        id: "M19.2",
        what: "a schema to be read from a file",
        outcome: "refused: only references into itself",
        run: |g| with_schema(g, r#"{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}"#),
    },
    Row { id: "M19.3", what: "a schema that is none", outcome: "refused: schema", run: |g| guest(g, "bad-schema") },
    Row {
        id: "M19.4",
        what: "a schema of no object",
        outcome: "refused: object",
        run: |g| guest(g, "schema-no-object"),
    },
    Row {
        id: "M19.5",
        what: "a schema 100 levels deep",
        outcome: "refused: nested more than 32 deep",
        run: |g| {
            with_schema(
                g,
                &format!("{}{{\"type\":\"object\"}}{}", r#"{"type":"object","not":"#.repeat(100), "}".repeat(100)),
            )
        },
    },
    Row {
        id: "M19.6",
        what: "a schema of 100 KiB",
        outcome: "refused: more than 65536",
        run: |g| with_schema(g, &format!(r#"{{"type":"object","description":"{}"}}"#, "x".repeat(100 << 10))),
    },
];
