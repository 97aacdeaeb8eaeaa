//! Components that are small to send and large to compile: refused, or compiled in bounded time, never a crash.

use std::fmt::Write as _;
use std::time::Duration;
use suite::{Home, Ran, forge, portcullis};

/// The compiler's own limit is 30 s; the rest is for starting it.
const BOUND: Duration = Duration::from_secs(45);

fn check(bytes: &[u8]) -> Ran {
    let home = Home::new();
    let file = home.write("bomb.wasm", bytes);
    let ran = portcullis(&home, &["check", &file.display().to_string()]);
    assert!(ran.status == Some(0) || !ran.refused().is_empty());
    assert!(ran.took < BOUND, "it took {:?}", ran.took);
    ran
}

#[test]
fn a_function_of_a_megabyte() {
    let mut body = String::from("(func $run (local i64) ");
    for number in 0..200_000 {
        let _ = write!(body, "(local.set 0 (i64.add (local.get 0) (i64.const {number})))");
    }
    check(&forge::plugin(&(body + ")")));
}

#[test]
fn a_function_of_fifty_thousand_locals() {
    let mut body = format!("(func $run (local{}) ", " i64".repeat(49_000));
    for number in 0..2_000 {
        let _ = write!(body, "(local.set {number} (i64.mul (local.get {}) (i64.const 3)))", 48_999 - number);
    }
    check(&forge::plugin(&(body + ")")));
}

#[test]
fn a_jump_table_of_half_a_million() {
    let table = " 0".repeat(500_000);
    check(&forge::plugin(&format!("(func $run (block (br_table{table} (i32.const 1))))")));
}

#[test]
fn blocks_inside_blocks() {
    let depth = 20_000;
    let body = format!("(func $run {} {})", "(block ".repeat(depth), ")".repeat(depth));
    // The text format's own reader may refuse it; then there is nothing to send.
    if let Ok(bytes) = std::panic::catch_unwind(|| forge::plugin(&body)) {
        check(&bytes);
    }
}

#[test]
fn components_inside_components() {
    let nested = wat::parse_str(format!("(component {} {})", "(component ".repeat(400), ")".repeat(400)));
    if let Ok(bytes) = nested {
        let ran = check(&bytes);
        assert!(ran.stderr.contains("limit") || ran.stderr.contains("not a valid component"), "{}", ran.stderr);
    }
    let many = wat::parse_str(format!("(component {})", "(core module)".repeat(2_000))).unwrap();
    assert!(check(&many).refused().contains("nested modules"), "too many modules are counted");
}

#[test]
fn a_hundred_thousand_functions() {
    let mut functions = String::from("(func $run)");
    for _ in 0..250_000 {
        functions.push_str("(func)");
    }
    assert!(check(&forge::plugin(&functions)).refused().contains("functions"), "functions are counted");
}
