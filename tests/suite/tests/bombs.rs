//! Components that are small to send and large to compile: refused, or compiled in bounded time, never a crash. They come
//! to a running server as new versions of a plugin that it serves, which is the whole way that a stranger's file takes.

use crate::reload::{edition, home, replace};
use serde_json::json;
use std::time::{Duration, Instant};
use suite::mangle::leb;
use suite::{Client, Era, Server, eventually, forge};

/// The compiler's own limit is 30 s; the rest is for starting it on a busy machine.
const BOUND: Duration = Duration::from_secs(60);
/// What the server may keep of all of them together.
const KEPT: u64 = 16 << 20;

fn plugin(body: impl AsRef<str>) -> Vec<u8> {
    forge::plugin(body.as_ref())
}

fn component(content: impl AsRef<str>) -> Vec<u8> {
    wat::parse_str(format!("(component {})", content.as_ref())).unwrap_or_else(|error| panic!("{error}"))
}

/// Text made of so many numbered pieces.
fn pieces(count: usize, piece: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, at| {
        text += &piece(at);
        text
    })
}

/// A good plugin with a section of these bytes after all others.
fn with_section(number: u8, content: &[u8]) -> Vec<u8> {
    [plugin("(func $run)"), vec![number], leb(content.len() as u64, 0), content.to_vec()].concat()
}

/// A component that is nothing but one section.
fn only_section(number: u8, content: &[u8]) -> Vec<u8> {
    [b"\0asm\x0d\0\x01\0".to_vec(), vec![number], leb(content.len() as u64, 0), content.to_vec()].concat()
}

/// Components inside one another, written out: the text format's reader has limits of its own.
fn nested(depth: usize) -> Vec<u8> {
    let empty = b"\0asm\x0d\0\x01\0".to_vec();
    (0..depth).fold(empty.clone(), |inner, _| [empty.clone(), vec![4], leb(inner.len() as u64, 0), inner].concat())
}

/// A section of so many entries, all of these bytes.
fn entries(count: u64, entry: &[u8]) -> Vec<u8> {
    [leb(count, 0), entry.repeat(count as usize)].concat()
}

/// A function that computes much in one straight line.
fn straight(count: usize) -> String {
    let step = |at| format!("(local.set 0 (i64.add (local.get 0) (i64.const {at})))");
    format!("(func $run (local i64) {})", pieces(count, step))
}

/// Each with what is said of it, where that is known; some may be compiled in time.
fn bombs() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let locals = |count: usize, used: usize| {
        let step = |at| format!("(local.set {at} (i64.mul (local.get {}) (i64.const 3)))", count - 1 - at);
        format!("(func $run (local{}) {})", " i64".repeat(count), pieces(used, step))
    };
    let selects = pieces(30_000, |at| format!("(i32.const {at}) (local.get 0) select "));
    let blocks = format!("(func $run {} {})", "block ".repeat(20_000), "end ".repeat(20_000));
    let loops = format!("(func $run {} {})", "loop ".repeat(5_000), "end ".repeat(5_000));
    let lists = format!("(type $t0 u8) {}", pieces(2_000, |at| format!("(type $t{} (list $t{at}))", at + 1)));
    let doubling =
        format!("(type $t0 (tuple u64 u64)) {}", pieces(40, |at| format!("(type $t{} (tuple $t{at} $t{at}))", at + 1)));
    let memory = "(memory 1)";
    vec![
        ("a function of a megabyte", plugin(straight(80_000)), ""),
        (
            "a function of seven megabytes",
            plugin(format!("(func $run {})", "i64.const 0x7fffffffffffffff drop ".repeat(660_000))),
            "not a valid component",
        ),
        ("fifty thousand locals", plugin(locals(49_000, 2_000)), ""),
        ("more locals than there may be", plugin(locals(51_000, 1)), "not a valid component"),
        (
            "a jump table of a million",
            plugin(format!("(func $run (block (br_table{} (i32.const 1))))", " 0".repeat(1_000_000))),
            "",
        ),
        ("blocks inside blocks", plugin(blocks), ""),
        ("loops inside loops", plugin(loops), ""),
        ("a chain of choices", plugin(format!("(func $run (local i32) i32.const 1 {selects} drop)")), ""),
        ("two hundred thousand functions", plugin(format!("(func $run) {}", "(func)".repeat(210_000))), "functions"),
        ("two thousand modules", component("(core module)".repeat(2_000)), "nested modules"),
        ("a thousand components inside one another", nested(1_000), "nested modules"),
        ("a hundred thousand imports", component(pieces(100_000, |at| format!("(import \"i{at}\" (func))"))), "export"),
        (
            "a hundred thousand exports",
            component(format!(
                "(import \"f\" (func $f)) {}",
                pieces(100_000, |at| format!("(export \"e{at}\" (func $f))"))
            )),
            "export",
        ),
        ("types inside types", component(lists), "export"),
        ("types that double", component(doubling), "export"),
        (
            "a hundred thousand types of functions",
            plugin(format!(
                "(func $run) {}",
                pieces(100_000, |at| format!("(type (func (param{})))", " i32".repeat(at % 3)))
            )),
            "",
        ),
        ("a hundred thousand data segments", plugin(format!("(func $run) {}", "(data \"x\")".repeat(100_000))), ""),
        ("fifty thousand element segments", plugin(format!("(func $run) {}", "(elem func $run)".repeat(50_000))), ""),
        ("fifty thousand globals", plugin(format!("(func $run) {}", "(global i64 (i64.const 1))".repeat(50_000))), ""),
        ("a thousand memories", plugin(format!("(func $run) {}", memory.repeat(1_000))), "not a valid component"),
        ("ten megabytes beside the code", with_section(0, &[&leb(1, 0)[..], b"x", &vec![0; 10 << 20]].concat()), ""),
        ("a name of a megabyte", with_section(0, &[leb(1 << 20, 0), vec![b'n'; 1 << 20]].concat()), ""),
        (
            "a size written in eleven bytes",
            [&b"\0asm\x0d\0\x01\0\0"[..], &leb(1, 10), b"x"].concat(),
            "not a valid component",
        ),
        ("four billion imports, said", only_section(10, &leb(u32::MAX.into(), 0)), "not a valid component"),
        ("four billion types, said", only_section(7, &leb(u32::MAX.into(), 0)), "not a valid component"),
        ("a million instances", only_section(5, &entries(1 << 20, &[0x01, 0x00])), "not a valid component"),
    ]
}

#[test]
fn components_that_are_large_to_compile() {
    let (home, path, config) = home();
    let mut client = Client::new(Server::start_in(home, &config), Era::Modern, false);
    assert_eq!(client.run("edition", json!({})).good(), "edition=A");
    let bombs = bombs();
    assert!(bombs.len() >= 24);
    let (mut before, mut seen) = (0, 0);
    for (at, (name, bytes, words)) in bombs.iter().enumerate() {
        let start = Instant::now();
        replace(&path, bytes);
        let answered = || {
            let log = client.server.log();
            let mut verdicts = log.lines().filter(|line| line.contains("reloaded: ") || line.contains("stays: "));
            verdicts.nth(seen).map(str::to_owned)
        };
        let line = eventually(BOUND, answered).unwrap_or_else(|| panic!("{name}: no verdict\n{}", client.server.log()));
        seen += 1;
        assert!(line.contains(words), "{name}: {words:?} is not said: {line}");
        assert!(words.is_empty() || line.contains("stays: "), "{name}: {line}");
        let took = start.elapsed();
        assert!(took < BOUND, "{name} took {took:?}");
        println!("{name}: {} KiB, {took:.1?}: {}", bytes.len() >> 10, line.rsplit(": ").next().unwrap_or_default());
        // The first one makes what every compilation takes: the engine's memory, the worker's pipes.
        if at == 0 {
            before = client.server.memory();
        }
    }
    let after = client.server.memory();
    assert!(after <= before + KEPT, "the server has grown from {} to {} MiB", before >> 20, after >> 20);
    replace(&path, &edition("BBAA"));
    let good = |client: &mut Client| (client.run("edition", json!({})).good() == "edition=B").then_some(());
    assert!(eventually(suite::PATIENCE, || good(&mut client)).is_some(), "the next plugin is not taken up");
    println!("hostile: compile bombs: {0} of {0} refused, stopped or compiled within limits", bombs.len());
}
