//! Types that take a few bytes in a file and stand for very many values.

use super::super::memory::hostcall_divisor;
use super::super::types::Ty;
use super::components::find;
use platform::clock::{Clock as _, SystemClock};
use std::fmt::Write as _;
use std::time::Duration;

/// A function that takes a list of the last of these types, each of which is made of the one before.
fn chain(count: usize, first: &str, next: impl Fn(&str) -> String) -> String {
    let mut text = format!("(type $n0 {first}) (export $t0 \"t0\" (type $n0))");
    for at in 1..=count {
        let made = next(&format!("$t{}", at - 1));
        let _ = write!(text, "(type $n{at} {made}) (export $t{at} \"t{at}\" (type $n{at}))");
    }
    let _ = write!(
        text,
        "(func $f (param \"x\" (list $t{count})) (canon lift (core func $i \"two\") (memory $memory) (realloc (func $realloc))))
        (export \"bomb\" (func $f))"
    );
    text
}

fn refused(text: &str) -> String {
    let began = SystemClock.now();
    let error = find(text).err().unwrap();
    let took = SystemClock.now().saturating_duration_since(began);
    assert!(took < Duration::from_secs(20), "it took {took:?}");
    assert!(error.len() < 2_000, "{} bytes", error.len());
    error
}

#[test]
fn doubling_types_are_refused() {
    for count in [12, 16] {
        let twice = |last: &str| format!("(record (field \"a\" {last}) (field \"b\" {last}))");
        let error = refused(&chain(count, "(record (field \"a\" u8))", twice));
        assert!(error.contains("`bomb` has more than 2000 types"), "{error}");
    }
}

#[test]
fn deep_types_are_refused() {
    let error = refused(&chain(40, "(record (field \"a\" u8))", |last| format!("(record (field \"a\" {last}))")));
    assert!(error.contains("`bomb` nests types more than 24 deep"), "{error}");
    let error = refused(&chain(14, "(record (field \"a\" u8))", |last| format!("(variant (case \"a\" {last}))")));
    assert!(error.contains("`bomb` would have an input schema that is refused"), "{error}");
}

#[test]
fn long_names_are_counted_wherever_they_occur() {
    let names: String = (0..100).map(|at| format!("\"a{at}{}\" ", "x".repeat(300))).collect();
    let fields = |last: &str| (0..10).map(|at| format!("(field \"f{at}\" {last})")).collect::<String>();
    let error = refused(&chain(1, &format!("(enum {names})"), |last| format!("(record {})", fields(last))));
    assert!(error.contains("bytes of names"), "{error}");
}

#[test]
fn very_many_functions_are_refused() {
    let mut text = String::from("(func $f (canon lift (core func $i \"none\")))");
    for at in 0..1_001 {
        let _ = write!(text, "(export \"f{at}\" (func $f))");
    }
    assert_eq!(refused(&text), "it exports more than 1000 functions");
}

#[test]
fn long_names_make_no_long_errors() {
    let deep = chain(40, "(record (field \"a\" u8))", |last| format!("(record (field \"a\" {last}))"));
    let long = |word: &str| format!("\"{}\"", word.repeat(50_000));
    let error = refused(&deep.replace("\"x\"", &long("x")).replace("\"bomb\"", &long("b")));
    assert!(error.contains("nests types more than 24 deep"), "{error}");
}

/// For a name of one letter, wasmtime counts one byte, and it takes 64.
#[test]
fn lists_of_flags_get_less_hostcall_fuel() {
    let flags = |count: usize, length: usize| Ty::Flags((0..count).map(|_| "x".repeat(length)).collect());
    let list = |ty: Ty| Ty::List(Box::new(ty));
    assert!(hostcall_divisor(&list(flags(32, 1))) >= 6);
    assert!(hostcall_divisor(&list(Ty::Tuple(vec![Ty::Bool, Ty::Option(Box::new(flags(32, 2)))]))) >= 6);
    assert_eq!(hostcall_divisor(&flags(32, 1)), 1, "there is one of it");
    assert_eq!(hostcall_divisor(&list(flags(1, 8))), 1);
    assert_eq!(hostcall_divisor(&list(list(Ty::String))), 1);
}
