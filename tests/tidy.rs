//! The house stays as drawn: the repository's own rules, checked by reading its text.
//!
//! Each failure says the rule and its reason. To change a rule, change the table here and ARCHITECTURE.md together.
#![allow(clippy::unwrap_used, reason = "a test that cannot read the repository has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use suite::paths::root;
use suite::scan::{code, lines_with, named_modules, without_tests};

/// Modules of `host/src` and the modules of ours that each may name. Downwards only, so that a reader may stop anywhere.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("policy", &[]),
    ("clock", &[]),
    ("changes", &["policy"]),
    ("telemetry", &[]),
    ("confine", &[]),
    ("package", &["policy"]),
    ("engine", &["policy", "clock", "telemetry", "confine"]),
    ("audit", &["policy", "clock", "telemetry", "storage"]),
    ("storage", &["clock"]),
    ("secrets", &[]),
    ("egress", &["imports", "outbound", "secrets", "policy", "audit"]),
    ("state", &["imports", "storage", "policy"]),
    ("imports", &["policy", "engine", "telemetry", "clock", "audit"]),
    ("shelf", &["imports", "changes", "policy", "clock"]),
    ("abi", &["imports", "engine", "policy", "clock"]),
    ("registry", &["abi", "imports", "engine", "package", "policy", "clock", "changes", "telemetry", "audit"]),
    ("outbound", &["policy", "telemetry"]),
    ("install", &["registry", "imports", "package", "outbound", "audit", "policy", "clock", "telemetry"]),
    ("identity", &["policy", "clock", "telemetry", "outbound"]),
    ("connections", &["imports", "storage", "outbound", "policy", "clock", "telemetry"]),
    ("model", &["imports", "policy", "clock", "telemetry", "outbound"]),
    (
        "mcp",
        &[
            "registry",
            "engine",
            "imports",
            "identity",
            "connections",
            "shelf",
            "changes",
            "storage",
            "policy",
            "clock",
            "telemetry",
            "audit",
        ],
    ),
    ("agent", &["mcp", "registry", "engine", "imports", "policy", "clock", "telemetry", "outbound", "audit"]),
    (
        "config",
        &[
            "policy",
            "identity",
            "secrets",
            "connections",
            "model",
            "outbound",
            "agent",
            "install",
            "audit",
            "telemetry",
        ],
    ),
];

/// The composition root and what is above it may name anything.
const MAY_NAME_ALL: &[&str] = &["host", "cli", "main", "lib", "fuzzing"];

/// Words of `host/src` that stand in few places only. A place is a file or a folder.
struct Only {
    words: &'static [&'static str],
    places: &'static [&'static str],
    why: &'static str,
}

const ONLY: &[Only] = &[
    Only {
        words: &["wasmtime", "wasmtime_wasi", "wasmtime_wasi_http"],
        places: &["engine/", "abi/", "imports/wasi.rs", "imports/wasi/", "imports/http/wasi.rs"],
        why: "one place configures and runs wasmtime, so that an update of it is one change",
    },
    Only {
        words: &["landlock", "seccompiler", "libc"],
        places: &["confine/"],
        why: "one place says what this process gives up",
    },
    Only { words: &["bindgen"], places: &["abi/"], why: "generated types stay behind one wall" },
    Only { words: &["rmcp"], places: &["mcp/", "agent/"], why: "no other part knows the protocol's types" },
    Only { words: &["rusqlite"], places: &["storage/"], why: "one place knows how things are kept" },
    Only {
        words: &["reqwest", "rustls", "hyper", "tokio_rustls", "rustls_platform_verifier", "lookup_host"],
        places: &["outbound/"],
        why: "one place decides how others are asked",
    },
    Only { words: &["print!", "println!"], places: &["cli/"], why: "stdout is the MCP wire" },
    Only {
        words: &["env::var", "env::var_os", "env::vars"],
        places: &["config.rs", "config/", "fuzzing/driver.rs"],
        why: "one resolved configuration, and a test that is told how long to run",
    },
    Only { words: &["Instant::now", "SystemTime::now"], places: &["clock.rs"], why: "time is an input, or tests wait" },
    Only { words: &["process::exit"], places: &[], why: "it skips every destructor; return an exit code from main" },
    Only { words: &["anyhow"], places: &["cli/", "main.rs"], why: "errors below the command line are typed" },
];

/// `unsafe` is counted in tests too.
const UNSAFE: &str = "engine/artifact.rs";

/// What may lie at the top of the repository, besides dot-files and what is ignored.
const TOP: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "guest-sdk",
    "host",
    "plugins",
    "target",
    "tests",
    "wit",
];

/// Past this many lines two ideas share a file.
const MAX_LINES: usize = 400;

/// Files that are longer, each with its reason.
const LONGER: &[(&str, &str)] = &[];

/// All files of the repository whose name ends so, without what is built.
fn files(ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            if path.is_symlink() || ["target", ".git", "node_modules", "__pycache__"].contains(&&*name) {
                continue;
            }
            match path.is_dir() {
                true => folders.push(path),
                false if name.ends_with(ending) => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no file ends in {ending}: the rules would hold for nothing");
    found
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Files of the host by their path below `host/src`, with their code.
fn host() -> Vec<(String, String)> {
    let base = root().join("host/src");
    let ours = files(".rs").into_iter().filter_map(|path| {
        let below = path.strip_prefix(&base).ok()?.display().to_string();
        Some((below, code(&fs::read_to_string(&path).unwrap())))
    });
    ours.collect()
}

fn hold(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}\n  {}\n", broken.join("\n  "));
}

/// What a file of the host names and may not.
fn wrong_names(file: &str, code: &str) -> Vec<String> {
    let module = file.split(['/', '.']).next().unwrap_or_default();
    if MAY_NAME_ALL.contains(&module) {
        return vec![];
    }
    let Some((_, allowed)) = MAY_NAME.iter().find(|(name, _)| *name == module) else {
        return vec![format!("host/src/{file}: the module `{module}` is not in the table of tests/tidy.rs")];
    };
    let depth = file.trim_end_matches(".rs").trim_end_matches("/mod").split('/').count();
    let known = |name: &str| MAY_NAME.iter().any(|(known, _)| *known == name) || MAY_NAME_ALL.contains(&name);
    let wrong = named_modules(code, depth)
        .into_iter()
        .filter(|(_, name)| name != module && known(name) && !allowed.contains(&name.as_str()));
    wrong
        .map(|(line, name)| format!("host/src/{file}:{line} names `{name}`; `{module}` may name only {allowed:?}"))
        .collect()
}

#[test]
fn modules_name_only_those_below_them() {
    let broken: Vec<_> = host().iter().flat_map(|(file, code)| wrong_names(file, code)).collect();
    hold("A module may name only those below it; ARCHITECTURE.md draws the table:", &broken);
}

/// Where a file of the host has a word in the wrong place.
fn misplaced(file: &str, code: &str) -> Vec<String> {
    let mut broken = Vec::new();
    for Only { words, places, why } in ONLY {
        let at_home = places.iter().any(|place| file == *place || (place.ends_with('/') && file.starts_with(place)));
        for word in words.iter().filter(|_| !at_home) {
            for line in lines_with(without_tests(code), word) {
                broken.push(format!("host/src/{file}:{line} has `{word}`, which belongs into {places:?}: {why}"));
            }
        }
    }
    if file != UNSAFE {
        let lines = lines_with(code, "unsafe").into_iter();
        broken
            .extend(lines.map(|line| format!("host/src/{file}:{line} has `unsafe`, which belongs into {UNSAFE} only")));
    }
    broken
}

#[test]
fn some_words_have_one_place() {
    let broken: Vec<_> = host().iter().flat_map(|(file, code)| misplaced(file, code)).collect();
    hold("Some words have one place in the host:", &broken);
}

#[test]
fn the_rules_above_can_fail() {
    assert_eq!(wrong_names("policy/mod.rs", "use crate::engine::Store;").len(), 1);
    assert_eq!(wrong_names("engine/store.rs", "use super::super::mcp::Server;").len(), 1);
    assert_eq!(wrong_names("engine/store.rs", "use crate::{policy, clock::Clock};"), [""; 0]);
    assert_eq!(wrong_names("novelty.rs", "").len(), 1);
    assert_eq!(wrong_names("host.rs", "use crate::mcp;"), [""; 0]);
    assert_eq!(misplaced("registry/load.rs", "use wasmtime::Engine; fn f() { println!() }").len(), 2);
    assert_eq!(misplaced("engine/store.rs", "use wasmtime::Engine;"), [""; 0]);
    assert_eq!(misplaced("imports/wasi.rs", "use wasmtime_wasi::WasiCtx;"), [""; 0]);
    assert_eq!(misplaced("imports/log.rs", "#[cfg(test)]\nmod tests { unsafe { f() } }").len(), 1);
    assert_eq!(misplaced("cli/serve.rs", "std::process::exit(1)").len(), 1);
}

#[test]
fn every_module_says_what_it_is() {
    // A crate may use its README as its first words.
    let says = |text: &str| text.starts_with("//! ") || text.starts_with("#![doc = include_str!(");
    let silent = files(".rs").into_iter().filter(|path| !says(&fs::read_to_string(path).unwrap()));
    hold(
        "A Rust file starts with a `//!` line that says what it is:",
        &silent.map(|path| shown(&path)).collect::<Vec<_>>(),
    );
}

#[test]
fn nothing_is_left_unfinished() {
    let mut broken = Vec::new();
    for path in files(".rs") {
        let code = code(&fs::read_to_string(&path).unwrap());
        for word in ["todo!", "unimplemented!", "#[ignore]", "dbg!"] {
            broken
                .extend(lines_with(&code, word).into_iter().map(|line| format!("{}:{line} has {word}", shown(&path))));
        }
    }
    hold("Nothing is left unfinished, and no test is ignored without a reason:", &broken);
}

#[test]
fn files_hold_one_idea() {
    let mut broken = Vec::new();
    for path in files(".rs") {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        match LONGER.iter().find(|(name, _)| *name == shown(&path)) {
            None if lines > MAX_LINES => broken.push(format!("{} has {lines} lines", shown(&path))),
            Some(_) if lines <= MAX_LINES => broken.push(format!("{} needs no exception any more", shown(&path))),
            _ => {}
        }
    }
    hold("A file past 400 lines is split, or stands in LONGER with a reason:", &broken);
}

#[test]
fn the_top_level_stays_small() {
    let names = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let strange: Vec<_> = names.filter(|name| !name.starts_with('.') && !TOP.contains(&name.as_str())).collect();
    hold("Only these lie at the top of the repository; put others into a room:", &strange);
}

/// What stands between `before` and the next of `after`.
fn cut<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split_once(after).map(|(between, _)| between)
}

#[test]
fn one_version_of_the_interface() {
    let read = |file: &str| fs::read_to_string(root().join(file)).unwrap();
    let wit = read("wit/v0.1/world.wit");
    let wit = cut(&wit, "package portcullis:plugin@", ";").unwrap();
    for file in ["host/src/package/mod.rs", "guest-sdk/rust/src/lib.rs"] {
        let text = read(file);
        let version = cut(&text, "pub const API_VERSION: &str = \"", "\"");
        assert_eq!(version, Some(wit), "API_VERSION in {file} is not the version of the WIT package");
    }
    let text = read("host/src/package/inspect.rs");
    let export = cut(&text, "pub const TOOLS_INTERFACE: &str = \"portcullis:plugin/tools@", "\"");
    assert_eq!(export, Some(wit), "the export that the host looks for is not that of the WIT package");
    assert!(
        root().join("wit").join(format!("v{}", wit.rsplit_once('.').unwrap().0)).is_dir(),
        "the folder names the version"
    );
}

#[test]
fn every_guest_is_tested() {
    let suite = files(".rs").into_iter().filter(|path| path.starts_with(root().join("tests/suite/tests")));
    let suite: String = suite.map(|path| fs::read_to_string(path).unwrap()).collect();
    let mut guests = files(".rs");
    guests.extend(files(".wat"));
    let behaviours = ["tests/guests/examples", "tests/guests/wat"].map(|folder| root().join(folder));
    guests.retain(|path| behaviours.iter().any(|folder| path.parent() == Some(folder)) && !path.ends_with("frame.wat"));
    assert!(guests.len() >= 26, "only {} guests", guests.len());
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    let untested: Vec<_> = guests.iter().map(name).filter(|name| !suite.contains(&format!("\"{name}\""))).collect();
    hold("A guest without a test proves nothing; the suite names none of these:", &untested);
}

#[test]
fn no_path_of_one_machine() {
    // Written in parts, so that this file passes.
    let paths = [concat!("/work", "/main"), concat!("/work", "/shared"), concat!("/ro", "ot/"), concat!("/tm", "p/h")];
    let mut broken = Vec::new();
    for ending in [".rs", ".toml", ".md", ".py", ".mjs", ".js", ".wit", ".wat", ".json"] {
        for path in files(ending) {
            let text = fs::read_to_string(&path).unwrap();
            broken.extend(
                paths.iter().filter(|part| text.contains(**part)).map(|part| format!("{}: {part}", shown(&path))),
            );
        }
    }
    hold("A path of one machine means nothing on another:", &broken);
}
