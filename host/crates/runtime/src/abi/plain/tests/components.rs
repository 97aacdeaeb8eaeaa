//! Components of the text format, compiled for their types.

use super::super::Functions;
use wasmtime::component::Component;
use wasmtime::{Engine, Error};

/// The start of a component: a memory, its allocator, and functions whose parameters and results are addresses.
pub(super) const CORE: &str = r#"
    (core module $m
        (memory (export "memory") 1)
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 0))
        (func (export "none"))
        (func (export "two") (param i32 i32))
        (func (export "get") (result i32) (i32.const 0)))
    (core instance $i (instantiate $m))
    (alias core export $i "memory" (core memory $memory))
    (alias core export $i "realloc" (core func $realloc))
"#;

/// Finds the functions of a component that begins with [`CORE`].
pub(super) fn find(text: &str) -> Result<Functions, String> {
    let engine = Engine::default();
    let bytes = wat::parse_str(format!("(component {CORE} {text})")).unwrap();
    let component = Component::new(&engine, bytes).map_err(|error: Error| format!("{error:#}"))?;
    Functions::find(&engine, &component)
}

fn refused(text: &str) -> String {
    find(text).err().unwrap()
}

const NONE: &str = r#"(func $f (canon lift (core func $i "none")))"#;

#[test]
fn functions_are_named_after_their_interfaces() {
    let found = find(&format!(
        r#"{NONE} (instance $one (export "forecast" (func $f)) (export "now" (func $f)))
        (export "acme:weather/report@1.2.0" (instance $one)) (export "greet" (func $f)) (export "own" (instance $one))"#
    ));
    let names: Vec<_> = found.unwrap().tools.into_keys().collect();
    assert_eq!(names, ["greet", "own-forecast", "own-now", "report-forecast", "report-now"]);
}

#[test]
fn two_functions_of_one_name_are_refused() {
    let error = refused(&format!(
        r#"{NONE} (instance $one (export "run" (func $f)))
        (export "a:b/x@1.0.0" (instance $one)) (export "c:d/x" (instance $one))"#
    ));
    for part in ["a:b/x@1.0.0#run", "c:d/x#run", "x-run"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn what_cannot_be_a_tool_is_named_with_its_reason() {
    assert_eq!(refused(""), "it exports no function that could be a tool");
    let text = format!(
        r#"(type $r' (resource (rep i32))) (export $r "r" (type $r'))
        (core func $new (canon resource.new $r'))
        (func $take (param "it" (own $r)) (canon lift (core func $i "drop")))
        (export "take" (func $take)) {NONE} (instance $run (export "run" (func $f)))
        (export "wasi:cli/run@0.2.0" (instance $run)) (export "wasi:http/incoming-handler@0.2.0" (instance $run))"#
    )
    .replace(r#"(core func $i "drop")"#, "(core func $one)");
    let one = r#"(core module $n (func (export "one") (param i32))) (core instance $j (instantiate $n))
        (alias core export $j "one" (core func $one))"#;
    let error = refused(&format!("{one} {text}"));
    assert!(error.starts_with("none of its functions can be a tool: "), "{error}");
    assert!(error.contains("`take` has a resource") && error.contains("parameter `it`"), "{error}");
    assert!(error.contains("`wasi:http/incoming-handler@0.2.0#run` is an entry point of WASI"), "{error}");
    assert!(error.contains("`wasi:cli/run@0.2.0#run` is not `func() -> result`"), "{error}");
    let left = find(&format!("{one} {text} (export \"good\" (func $f))")).unwrap();
    assert_eq!(left.tools.into_keys().collect::<Vec<_>>(), ["good"]);
}

#[test]
fn comments_become_descriptions() {
    let found = find(
        r#"(type $p' (record (field "x" u32) (field "y" u32))) (export $p "point" (type $p'))
        (func $f (param "at" $p) (canon lift (core func $i "two"))) (export "put" (func $f))"#,
    )
    .unwrap();
    let docs = br#"{"worlds":{"shapes":{"funcs":{"put":{"docs":" Puts a point. "}},
        "types":{"point":{"items":{"x":"To the right."}}}}},"more":1}"#;
    let described = |section: &[u8]| found.describe(Some(section)).tools.remove(0);
    let tool = described(&[&[1], docs.as_slice()].concat());
    let fresh = "\n\nEach call begins with fresh memory: what an earlier call has set there is gone.";
    assert_eq!((tool.name.as_str(), tool.description), ("put", format!("Puts a point.{fresh}")));
    assert!(tool.input_schema.contains("To the right."), "{}", tool.input_schema);
    for unknown in [[&[9], docs.as_slice()].concat(), b"\x01{".to_vec(), vec![]] {
        assert_eq!(described(&unknown).description, format!("The function `put`.{fresh}"));
    }
    let pure = find(r#"(func $f (result u32) (canon lift (core func $i "get"))) (export "get" (func $f))"#).unwrap();
    assert_eq!(pure.describe(None).tools[0].description, "The function `get`.");
}
