//! Plugins that come with the program, which are installed by their names.

use crate::install::{CONFIG, lock, plugin};
use crate::reload::{edition, replace};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use suite::{Home, paths, portcullis};

#[test]
fn plugins_that_come_with_the_program_are_installed_by_name() {
    let home = Home::new();
    home.write("portcullis.toml", format!("{CONFIG}[code]\nplugin = \"code\"\nonly = true\n"));
    let installed = plugin(&home, &["install", "code", "--yes", "--yes-grant", "agent-tools = [\"*.*\"]"]);
    assert!(installed.good().contains("[plugins.code] is installed"), "{installed:?}");
    assert!(lock(&home).contains("/plugins/code.wasm\""), "{}", lock(&home));
    let program = json!({"code": "return 6 * 7"});
    let called = portcullis(&home, &["call", "code", "run_code", &program.to_string()]);
    assert!(called.good().contains("42"), "{called:?}");
    let missing = plugin(&home, &["install", "cod"]);
    assert!(
        missing.stderr.contains("there is no file `cod`, and these plugins come with this program: "),
        "{missing:?}"
    );
    assert!(missing.stderr.contains(", code, "), "{missing:?}");
    // A file of that name is meant where there is one, and no folder.
    home.write("hello", "no component");
    let file = plugin(&home, &["install", "hello", "--yes"]);
    assert!(file.status == Some(1) && !lock(&home).contains("hello"), "{file:?}");
    fs::create_dir(home.path().join("notes")).unwrap();
    let folder = plugin(&home, &["install", "notes", "--digest", &format!("sha256:{}", "0".repeat(64))]);
    assert!(folder.stderr.contains("/plugins/notes.wasm is sha256:"), "{folder:?}");
}

/// Whoever may write to a folder beside a program must not choose what it installs.
#[test]
fn plugins_that_others_may_have_put_beside_the_program_are_not_installed() {
    let home = Home::new();
    home.write("portcullis.toml", CONFIG);
    let folder = home.path().join("bin/plugins");
    fs::create_dir_all(&folder).unwrap();
    let (program, component) = (home.path().join("bin/portcullis"), folder.join("edition.wasm"));
    fs::hard_link(paths::binary(), &program).or_else(|_| fs::copy(paths::binary(), &program).map(drop)).unwrap();
    replace(&component, &edition("AAAA"));
    for (path, mode) in [(&component, 0o644), (&home.path().join("bin"), 0o755)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let install = |mode| {
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        let mut command = Command::new(&program);
        command.args(["plugin", "install", "edition", "--yes"]).current_dir(home.path());
        command.env("PORTCULLIS_CACHE", paths::cache());
        suite::cli::run(command)
    };
    let refused = install(0o777);
    assert!(
        refused.refused().contains("bin/plugins is not used: others on this machine can write to it"),
        "{refused:?}"
    );
    install(0o755).good();
}
