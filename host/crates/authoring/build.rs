//! Puts what `portcullis new` and `portcullis build` need into the program: the SDKs, the WIT, templates, lists of tools.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Folders and files of the repository, and what they are called in the program.
const EMBEDDED: [(&str, &str); 13] = [
    ("wit/v0.1", "wit"),
    ("guest-sdk/wasi", "wasi"),
    ("guest-sdk/templates", "templates"),
    ("guest-sdk/toolchains", "toolchains"),
    ("guest-sdk/python/src", "python"),
    ("guest-sdk/javascript/src", "javascript/src"),
    ("guest-sdk/javascript/schemas", "javascript/schemas"),
    ("guest-sdk/c/include", "c/include"),
    ("guest-sdk/c/src", "c/src"),
    ("guest-sdk/go", "go"),
    ("guest-sdk/rust/src", "rust/guest/src"),
    ("guest-sdk/rust/macros", "rust/guest/macros"),
    ("wit/v0.1", "rust/guest/wit"),
];
const FILES: [(&str, &str); 3] = [
    ("guest-sdk/javascript/package.json", "javascript/package.json"),
    ("guest-sdk/rust/Cargo.toml", "rust/guest/Cargo.toml"),
    ("guest-sdk/rust/README.md", "rust/guest/README.md"),
];

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../../..");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let mut all: Vec<(String, PathBuf)> = Vec::new();
    for (from, to) in EMBEDDED {
        println!("cargo:rerun-if-changed={}", root.join(from).display());
        walk(&root.join(from), to, &mut all);
    }
    for (from, to) in FILES {
        println!("cargo:rerun-if-changed={}", root.join(from).display());
        all.push((to.to_owned(), root.join(from)));
    }
    println!("cargo:rerun-if-changed={}", root.join("Cargo.toml").display());
    let workspace = out.join("workspace.toml");
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("the workspace has a manifest");
    fs::write(&workspace, workspace_of_the_sdk(&manifest)).expect("OUT_DIR can be written");
    all.push(("rust/Cargo.toml".to_owned(), workspace));
    all.sort();
    let mut table = String::from("&[\n");
    for (name, path) in &all {
        let path = path.canonicalize().expect("it was just found");
        writeln!(table, "    ({name:?}, include_bytes!({path:?})),").expect("a String takes it");
    }
    table.push(']');
    fs::write(out.join("embedded.rs"), table).expect("OUT_DIR can be written");
}

fn walk(folder: &Path, name: &str, all: &mut Vec<(String, PathBuf)>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry of it").path();
        let file = path.file_name().expect("it has a name").to_string_lossy().into_owned();
        if path.is_dir() && file != "__pycache__" {
            walk(&path, &format!("{name}/{file}"), all);
        } else if path.is_file() {
            all.push((format!("{name}/{file}"), path));
        }
    }
}

/// The workspace from which the SDK for Rust inherits outside of this repository: the parts of our own one that its manifest
/// names.
fn workspace_of_the_sdk(manifest: &str) -> String {
    let all: toml::Table = manifest.parse().expect("the workspace's manifest is TOML");
    let ours = all["workspace"].as_table().expect("it has a workspace");
    let mut workspace = toml::Table::new();
    workspace.insert("resolver".into(), ours["resolver"].clone());
    workspace.insert("members".into(), vec!["guest", "guest/macros"].into());
    workspace.insert("package".into(), ours["package"].clone());
    workspace.insert("lints".into(), ours["lints"].clone());
    let dependencies = ours["dependencies"].as_table().expect("it has dependencies").clone();
    let external = |entry: &(String, toml::Value)| entry.1.get("path").is_none();
    let dependencies: toml::Table = dependencies.into_iter().filter(external).collect();
    workspace.insert("dependencies".into(), dependencies.into());
    toml::Table::from_iter([("workspace".to_owned(), workspace.into())]).to_string()
}
