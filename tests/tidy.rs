//! Checks the repository's own rules by reading its source text.
//!
//! Each failure states the rule and its reason. To change a rule, change its table and ARCHITECTURE.md together.
#![allow(clippy::unwrap_used, reason = "a test that cannot read the repository has failed")]

#[path = "tidy/rules.rs"]
mod rules;
#[path = "tidy/types.rs"]
mod types;

use rules::{CRATES, ONLY, ONLY_CRATES, Only, UNSAFE};
use std::fs;
use std::path::{Path, PathBuf};
use suite::cycles::{Cycle, cycles};
use suite::paths::root;
use suite::scan::{code, lines_with, without_tests};
use suite::tutorial::lines_without_files;

/// The files and folders allowed at the top of the repository, besides dot-files and ignored files.
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

/// A longer file should be split.
const MAX_LINES: usize = 400;

/// Files that may be longer, each with its reason.
const LONGER: &[(&str, &str)] = &[];

/// All files of the repository whose name ends with `ending`, without build output.
fn files(ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            if path.is_symlink() || ["target", ".git", ".portcullis", "node_modules", "__pycache__"].contains(&&*name) {
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

/// The host's source files with their code, named `<crate>/<path below its src>`.
fn host() -> Vec<(String, String)> {
    let base = root().join("host");
    let ours = files(".rs").into_iter().filter_map(|path| {
        let below = path.strip_prefix(&base).ok()?.display().to_string();
        let name = match below.strip_prefix("crates/") {
            Some(below) => {
                let (krate, path) = below.split_once("/src/")?;
                format!("{krate}/{path}")
            }
            None => format!("portcullis/{}", below.strip_prefix("src/")?),
        };
        Some((name, code(&fs::read_to_string(&path).unwrap())))
    });
    ours.collect()
}

/// The dependencies that a crate of the host declares, without dev-dependencies.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = match name {
        "portcullis" => root().join("host/Cargo.toml"),
        name => root().join("host/crates").join(name).join("Cargo.toml"),
    };
    let text = fs::read_to_string(manifest).unwrap();
    let sections =
        text.split("\n[").filter(|section| section.contains("dependencies]\n") && !section.starts_with("dev-"));
    let lines = sections.flat_map(|section| section.lines().skip(1));
    lines
        .filter_map(|line| Some(line.split(['.', ' ', '=']).next()?.to_owned()))
        .filter(|name| !name.is_empty())
        .collect()
}

fn hold(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}\n  {}\n", broken.join("\n  "));
}

#[test]
fn crates_depend_only_on_those_below_them() {
    let ours: Vec<&str> = CRATES.iter().map(|(name, _)| *name).collect();
    let mut folders: Vec<_> = fs::read_dir(root().join("host/crates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    folders.sort();
    assert_eq!(
        folders,
        {
            let mut names = ours.clone();
            names.sort();
            names
        },
        "every crate stands in the table"
    );
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut broken = Vec::new();
    for (name, allowed) in CRATES {
        let mut declared = dependencies(name);
        declared.retain(|dependency| ours.contains(&dependency.as_str()));
        for dependency in declared.iter().filter(|dependency| !allowed.contains(&dependency.as_str())) {
            broken.push(format!("host/crates/{name} depends on `{dependency}`; it may depend on {allowed:?}"));
        }
        for dependency in allowed.iter().filter(|dependency| !declared.iter().any(|declared| declared == **dependency))
        {
            broken.push(format!("host/crates/{name} does not depend on `{dependency}`: take it out of the table"));
        }
        let list = if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(", ") };
        if !architecture.contains(&format!("| `{name}` | {list} |")) {
            broken.push(format!("ARCHITECTURE.md has no row `| `{name}` | {list} |`"));
        }
    }
    for (dependencies_, crates, why) in ONLY_CRATES {
        for name in ours.iter().chain(&["portcullis"]).filter(|name| !crates.contains(name)) {
            for dependency in
                dependencies(name).iter().filter(|dependency| dependencies_.contains(&dependency.as_str()))
            {
                broken.push(format!("{name} depends on `{dependency}`, which only {crates:?} may: {why}"));
            }
        }
    }
    hold("A crate depends only on those below it; ARCHITECTURE.md has the table:", &broken);
}

/// The restricted words that a file of the host uses without permission.
fn misplaced(file: &str, code: &str) -> Vec<String> {
    let mut broken = Vec::new();
    for Only { words, places, why } in ONLY {
        let at_home = places.iter().any(|place| file == *place || (place.ends_with('/') && file.starts_with(place)));
        for word in words.iter().filter(|_| !at_home) {
            for line in lines_with(without_tests(code), word) {
                broken.push(format!("{file}:{line} has `{word}`, which belongs into {places:?}: {why}"));
            }
        }
    }
    if file != UNSAFE {
        let lines = lines_with(code, "unsafe").into_iter();
        broken.extend(lines.map(|line| format!("{file}:{line} has `unsafe`, which belongs into {UNSAFE} only")));
    }
    broken
}

#[test]
fn no_files_or_folders_import_each_other() {
    let mut broken = Vec::new();
    let roots = ["lib.rs", "main.rs"]
        .iter()
        .flat_map(|name| files(name))
        .filter(|path| path.ends_with("src/lib.rs") || path.ends_with("src/main.rs"));
    for root in roots.collect::<Vec<_>>() {
        for Cycle { folder, entries, imports } in cycles(&root) {
            broken.push(format!("{} {folder}: {entries:?}\n    {}", shown(&root), imports.join("\n    ")));
        }
    }
    hold("Files and folders import in one direction, or none can be read alone:", &broken);
}

#[test]
fn restricted_names_occur_only_where_allowed() {
    let broken: Vec<_> = host().iter().flat_map(|(file, code)| misplaced(file, code)).collect();
    hold("Some words have one place in the host:", &broken);
}

#[test]
fn the_checks_above_detect_violations() {
    assert_eq!(misplaced("plugins/loading/loader.rs", "use wasmtime::Engine; fn f() { println!() }").len(), 2);
    assert_eq!(misplaced("runtime/engine/store.rs", "use wasmtime::Engine;"), [""; 0]);
    assert_eq!(misplaced("runtime/imports/wasi.rs", "use wasmtime_wasi::WasiCtx;"), [""; 0]);
    assert_eq!(misplaced("runtime/imports/log.rs", "#[cfg(test)]\nmod tests { unsafe { f() } }").len(), 1);
    assert_eq!(misplaced("portcullis/cli/serve.rs", "std::process::exit(1)").len(), 1);
    assert!(dependencies("runtime").contains(&"wasmtime".to_owned()));
    assert!(!dependencies("portcullis").contains(&"suite".to_owned()), "what tests use is left out");
}

#[test]
fn every_module_has_a_description() {
    // A crate may include its README as its description.
    let says = |text: &str| text.starts_with("//! ") || text.starts_with("#![doc = include_str!(");
    let silent = files(".rs").into_iter().filter(|path| !says(&fs::read_to_string(path).unwrap()));
    hold(
        "A Rust file starts with a `//!` line that says what it is:",
        &silent.map(|path| shown(&path)).collect::<Vec<_>>(),
    );
}

#[test]
fn no_code_is_unfinished_and_no_test_ignored() {
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
fn files_are_at_most_400_lines() {
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
    hold("Only these lie at the top of the repository; put others into a folder:", &strange);
}

/// The text between `before` and the next `after`.
fn cut<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split_once(after).map(|(between, _)| between)
}

#[test]
fn the_interface_version_is_the_same_everywhere() {
    let read = |file: &str| fs::read_to_string(root().join(file)).unwrap();
    let wit = read("wit/v0.1/world.wit");
    let wit = cut(&wit, "package portcullis:plugin@", ";").unwrap();
    for file in ["host/crates/plugins/src/package/api.rs", "guest-sdk/rust/src/lib.rs"] {
        let text = read(file);
        let version = cut(&text, "pub const API_VERSION: &str = \"", "\"");
        assert_eq!(version, Some(wit), "API_VERSION in {file} is not the version of the WIT package");
    }
    let text = read("host/crates/plugins/src/package/api.rs");
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

/// Documents for people.
const DOCUMENTS: &[&str] = &["README.md", "ARCHITECTURE.md", "host/", "wit/", "guest-sdk/", ".github/"];

/// A longer line does not fit beside a diff. Rows of tables and lines of code cannot be broken.
const MAX_LINE: usize = 160;

/// A tutorial is read in ten minutes.
const MAX_TUTORIAL: usize = 100;

/// The documents of [`DOCUMENTS`]: path and text. What is generated of the WIT is left out.
fn documents() -> impl Iterator<Item = (PathBuf, String)> {
    let ours = |path: &PathBuf| {
        DOCUMENTS.iter().any(|place| shown(path).starts_with(place)) && !shown(path).starts_with("wit/reference/")
    };
    files(".md").into_iter().filter(ours).map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    })
}

/// The numbers of lines of prose that are too long.
fn long_lines(text: &str) -> Vec<usize> {
    let mut in_code = false;
    let prose = text.lines().enumerate().filter(move |(_, line)| {
        in_code ^= line.trim_start().starts_with("```");
        !in_code && !line.starts_with('|')
    });
    prose.filter(|(_, line)| line.chars().count() > MAX_LINE).map(|(at, _)| at + 1).collect()
}

/// The relative links of a text that do not resolve from this folder.
fn dead_links(folder: &Path, text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    let relative = targets.filter(|target| !target.contains("://") && !target.starts_with(['#', '<']));
    relative.filter(|target| !folder.join(target.split('#').next().unwrap()).exists()).map(str::to_owned).collect()
}

/// The paths in a text that look like code of this repository but do not exist: `crate/module` of the host, or a path
/// from the top of the repository.
fn dead_paths(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && !"/_.-".contains(c));
    let paths = words.map(|word| word.trim_end_matches(['.', '/', '-']));
    let dead = paths.filter(|path| {
        let Some((first, below)) = path.split_once('/') else {
            // A file of the end-to-end tests.
            return path.ends_with(".rs") && !root().join("tests/suite/tests").join(path).exists();
        };
        let in_crate = CRATES.iter().any(|(name, _)| *name == first);
        let ours = in_crate || ["host", "tests", "wit", "guest-sdk"].contains(&first);
        let exists = |path: PathBuf| path.exists() || path.with_added_extension("rs").exists();
        let crate_path = root().join("host/crates").join(first).join("src").join(below);
        ours && !exists(root().join(path)) && !(in_crate && exists(crate_path))
    });
    dead.map(str::to_owned).collect()
}

#[test]
fn documents_have_short_lines_and_no_dead_links() {
    let (mut broken, mut links) = (Vec::new(), 0);
    for (path, text) in documents() {
        let name = shown(&path);
        broken.extend(long_lines(&text).iter().map(|at| format!("{name}:{at} has more than {MAX_LINE} characters")));
        // The files that a tutorial shows are counted by themselves: some languages need more words than others.
        if path.ends_with("TUTORIAL.md") {
            let lines = lines_without_files(&text).unwrap();
            if lines > MAX_TUTORIAL {
                broken.push(format!("{name} has {lines} lines besides its files; at most {MAX_TUTORIAL}"));
            }
        }
        let folder = path.parent().unwrap();
        links += text.matches("](").count();
        broken.extend(dead_links(folder, &text).into_iter().map(|link| format!("{name}: dead link {link}")));
        if name.starts_with("host/") || name == "ARCHITECTURE.md" {
            broken.extend(dead_paths(&text).into_iter().map(|path| format!("{name}: no such path {path}")));
        }
    }
    assert!(links > 60, "only {links} links were found");
    assert_eq!(dead_links(&root(), "[a](README.md#x) [b](https://x) [c](no.md)"), ["no.md"]);
    assert_eq!(dead_paths("`mcp/handler`, `mcp/no`, `plugins/hello`, `host/src/no.rs`."), ["mcp/no", "host/src/no.rs"]);
    let long = "a".repeat(MAX_LINE + 1);
    assert_eq!(long_lines(&format!("short\n| {long}\n```\n{long}\n```\n{long}")), [6]);
    hold("Documents have short lines, and what they name is there:", &broken);
}

#[test]
fn no_machine_specific_paths() {
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
