//! Bytes that are not a plugin are refused with a sentence that says why, most of them before anything is compiled.

use std::fs::{self, File};
use std::time::Duration;
use suite::{Home, compiled_code, paths, plugin_from, portcullis};

/// The time limit for refusals that need no compiler.
const AT_ONCE: Duration = Duration::from_secs(1);
/// On a busy machine some are slower. One that needs the compiler is slow every time.
const TRIES: usize = 5;

fn refused_by_check(home: &Home, bytes: &[u8], words: &str) {
    let file = home.write("candidate.wasm", bytes);
    let took = (0..TRIES).map(|_| {
        let ran = portcullis(home, &["check", &file.display().to_string()]);
        assert!(ran.refused().contains(words), "{words:?} is not said of {} bytes: {}", bytes.len(), ran.stderr);
        ran.took
    });
    let took: Vec<_> = took.take_while(|took| *took >= AT_ONCE).collect();
    assert!(took.len() < TRIES, "it took {took:?} to refuse {} bytes", bytes.len());
}

#[test]
fn a_truncated_component_is_refused() {
    let home = Home::new();
    let whole = fs::read(paths::guest("echo")).unwrap();
    let steps = 24;
    for step in 0..steps {
        let length = 9 + (whole.len() - 10) * step / (steps - 1);
        refused_by_check(&home, &whole[..length], "not a valid component");
    }
}

#[test]
fn a_component_with_changed_bytes_never_crashes_the_host() {
    let home = Home::new();
    let whole = fs::read(paths::guest("echo")).unwrap();
    let mut seed = 0x2545_F491_4F6C_DD1D_u64;
    for _ in 0..24 {
        let mut bytes = whole.clone();
        for _ in 0..64 {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let at = 8 + (seed as usize) % (bytes.len() - 8);
            bytes[at] = (seed >> 32) as u8;
        }
        let file = home.write("candidate.wasm", &bytes);
        let ran = portcullis(&home, &["check", &file.display().to_string()]);
        // The component may still be valid if only names were changed. It must never crash the host.
        assert!(ran.status == Some(0) || !ran.refused().is_empty());
    }
}

#[test]
fn bytes_that_are_not_a_component_are_refused() {
    let home = Home::new();
    refused_by_check(&home, b"", "not WebAssembly");
    refused_by_check(&home, b"#!/bin/sh\necho hello\n", "not WebAssembly");
    refused_by_check(&home, &fs::read("/proc/self/exe").unwrap()[..100_000], "not WebAssembly");
    refused_by_check(&home, b"\0asm\x01\0\0\0", "core module");
    refused_by_check(&home, b"\0asm\x0d\0\x01\0\xff\xff\xff\xff\xff\xff", "not a valid component");
    refused_by_check(&home, b"\0as", "not WebAssembly");
    refused_by_check(&home, b"\0asm", "not a valid component");
    refused_by_check(&home, b"\0asm\x0d\0\x01\0", "does not export portcullis:plugin/tools@0.1.0");
    let mut noise = b"\0asm\x0d\0\x01\0".to_vec();
    noise.extend((0..10_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8));
    refused_by_check(&home, &noise, "not a valid component");
}

/// Precompiled code is machine code: loading it would run it without a sandbox.
#[test]
fn precompiled_code_is_refused() {
    let home = Home::new();
    let mut compiled = b"\x7fELF\x02\x01\x01\xc8\0\0\0\0\0\0\0\0\x01\0\x3e\0".to_vec();
    compiled.extend_from_slice(b"wasmtime\0 48.0.8");
    refused_by_check(&home, &compiled, "not WebAssembly");
    refused_by_check(&home, &compiled, "precompiled");
    refused_by_check(&home, &compiled_code(), "not");
}

#[test]
fn an_oversized_file_is_refused() {
    let home = Home::new();
    let path = home.path().join("large.wasm");
    File::create(&path).unwrap().set_len(100 << 20).unwrap();
    let ran = portcullis(&home, &["check", &path.display().to_string()]);
    assert!(ran.refused().contains("64 MiB"), "{}", ran.stderr);
    assert!(ran.took < AT_ONCE, "{:?}", ran.took);
}

#[test]
fn a_path_that_is_not_a_regular_file_is_refused() {
    let home = Home::new();
    for path in ["missing.wasm", ".", "/dev/zero"] {
        let ran = portcullis(&home, &["check", path]);
        assert!(ran.refused().contains(path), "{}", ran.stderr);
        assert!(ran.took < AT_ONCE, "{path}: {:?}", ran.took);
    }
}

#[test]
fn serve_refuses_what_check_refuses() {
    let home = Home::new();
    let good = plugin_from("echo", &paths::guest("echo"), "");
    for (bytes, words) in [(&b"\0asm\x01\0\0\0"[..], "core module"), (b"hello", "not WebAssembly")] {
        let bad = home.write("bad.wasm", bytes);
        let file = home.write("portcullis.toml", good.clone() + &plugin_from("bad", &bad, ""));
        let ran = portcullis(&home, &["serve", "--strict", "--config", &file.display().to_string()]);
        let said = ran.refused();
        assert!(said.contains(words) && said.contains("[plugins.bad]") && said.contains("bad.wasm"), "{said}");
        assert!(ran.stdout.is_empty(), "stdout is the wire: {}", ran.stdout);
    }
}
