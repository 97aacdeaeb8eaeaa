//! The quick start of the README, and the checked-in component that it calls.

use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use suite::{Home, paths, plugin_from, portcullis};

fn hello() -> PathBuf {
    paths::root().join("plugins/hello")
}

#[test]
fn the_quick_start_of_the_readme_works() {
    let config = hello().join("portcullis.toml");
    let ran = portcullis(
        &Home::new(),
        &["call", "hello", "greet", r#"{"name": "Ada"}"#, "--config", &config.display().to_string()],
    );
    assert_eq!(ran.good().trim(), "Hello, Ada!");
    let readme = fs::read_to_string(paths::root().join("README.md")).unwrap();
    let command = r#"call hello greet '{"name": "Ada"}' --config plugins/hello/portcullis.toml"#;
    assert!(readme.contains(command), "the README shows another command");
}

/// The files in a folder, below `base`, in the order of a shell.
fn names(folder: &Path, base: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().strip_prefix(base).unwrap().display().to_string())
        .collect();
    names.sort();
    names
}

/// Bytes differ with the compiler and the folder that it runs in, so the sums say which source the component was built from.
#[test]
fn the_checked_in_component_was_built_after_its_source_changed() {
    let folder = hello();
    let files =
        ["Cargo.toml".to_owned(), "hello.wasm".to_owned()].into_iter().chain(names(&folder.join("src"), &folder));
    let sum = |file: &str| -> String {
        Sha256::digest(fs::read(folder.join(file)).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let now: String = files.map(|file| format!("{}  {file}\n", sum(&file))).collect();
    assert_eq!(
        now,
        fs::read_to_string(folder.join("SHA256SUMS")).unwrap(),
        "hello.wasm and its source are not those of plugins/hello/SHA256SUMS: build it as plugins/hello/portcullis.toml says"
    );
}

/// Sums alone could be written without building.
#[test]
fn the_checked_in_component_says_and_does_what_its_source_does() {
    let seen = |component: &Path| {
        let home = Home::new();
        home.write("portcullis.toml", plugin_from("hello", component, ""));
        let called =
            |tool: &str, arguments: &str| portcullis(&home, &["call", "hello", tool, arguments]).good().to_owned();
        let checked = portcullis(&home, &["check", &component.display().to_string()]);
        let definitions = checked.good().lines().find(|line| line.contains("definitions")).map(str::to_owned);
        (definitions.unwrap(), called("greet", r#"{"name": "Bob"}"#), called("echo", r#"{"text": "a\nb"}"#))
    };
    assert_eq!(seen(&hello().join("hello.wasm")), seen(&paths::real_plugin("hello")));
}
