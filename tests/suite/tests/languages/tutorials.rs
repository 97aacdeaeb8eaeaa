//! The tutorial of each language, followed word for word from an empty folder. What a reader has or downloads is there already:
//! variables say where, and no network is used.

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use suite::tutorial::follow;
use suite::{Home, cli, modern_meta, paths};

fn page(language: &str) -> String {
    fs::read_to_string(paths::root().join("guest-sdk").join(language).join("TUTORIAL.md")).unwrap()
}

/// Follows a tutorial with what `arrange` puts into the environment, then serves what it ends with as its `.mcp.json` says.
fn tutorial(page: &str, arrange: impl FnOnce(&Home) -> Vec<(&'static str, String)>) {
    let home = Home::new();
    let (programs, empty) = (home.path().join("programs"), home.path().join("empty"));
    for folder in [&programs, &empty] {
        fs::create_dir(folder).unwrap();
    }
    std::os::unix::fs::symlink(paths::binary(), programs.join("portcullis")).unwrap();
    let others = std::env::var("PATH").unwrap();
    let mut variables = vec![
        ("PATH", format!("{}:{others}", programs.display())),
        ("PORTCULLIS_CACHE", paths::cache().display().to_string()),
        ("PORTCULLIS_STATE", home.path().join("state").display().to_string()),
    ];
    variables.extend(arrange(&home));
    // The dependencies of Rust in the versions that our plugins have, which are there.
    let lock = |folder: &Path| {
        if folder.join("Cargo.toml").exists() && !folder.join("Cargo.lock").exists() {
            fs::copy(paths::root().join("plugins/Cargo.lock"), folder.join("Cargo.lock")).unwrap();
        }
    };
    let folder = follow(page, &empty, &variables, lock).unwrap_or_else(|wrong| panic!("TUTORIAL.md, {wrong}"));
    assert_eq!(served(&folder, &variables), ["shopping__add", "shopping__buy"]);
}

/// The names of the tools that a client sees which starts the server of `.mcp.json`.
fn served(folder: &Path, variables: &[(&str, String)]) -> Vec<String> {
    let configured: Value = serde_json::from_str(&fs::read_to_string(folder.join(".mcp.json")).unwrap()).unwrap();
    let server = &configured["mcpServers"]["portcullis"];
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": modern_meta(false)}});
    fs::write(folder.join("request.json"), format!("{request}\n")).unwrap();
    // A shell finds the program by the PATH of the variables.
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$@\" < request.json", "sh", server["command"].as_str().unwrap()]);
    command.args(server["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap()));
    command.current_dir(folder).envs(variables.iter().map(|(name, value)| (name, value)));
    let ran = cli::run(command);
    let answer: Value = serde_json::from_str(ran.good()).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn rust() {
    tutorial(&page("rust"), |home| {
        // Where all that a test on this machine needs is compiled already, as well as what a component does.
        let cargo = home.write("programs/cargo", CARGO);
        fs::set_permissions(cargo, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        vec![
            ("REAL_CARGO", env!("CARGO").into()),
            ("COMPILED", paths::root().join("target").display().to_string()),
            ("CARGO_NET_OFFLINE", "true".into()),
        ]
    });
}

const CARGO: &str = "#!/bin/sh
export CARGO_TARGET_DIR=$COMPILED/wasm
[ \"$1\" != test ] || export CARGO_TARGET_DIR=$COMPILED CARGO_PROFILE_DEV_DEBUG=0
exec \"$REAL_CARGO\" \"$@\"
";

#[test]
fn python() {
    tutorial(&page("python"), |home| {
        let pytest = paths::python().with_file_name("pytest");
        std::os::unix::fs::symlink(pytest, home.path().join("programs/pytest")).unwrap();
        vec![
            ("PIP_NO_INDEX", "1".into()),
            ("PYTHONDONTWRITEBYTECODE", "1".into()),
            ("PYTEST_ADDOPTS", "-p no:cacheprovider".into()),
        ]
    });
}

/// Node runs TypeScript from 22.18 on. An older one gets a hook which takes the types out, as that one does.
#[test]
fn typescript() {
    tutorial(&page("javascript"), |home| {
        let compiler = paths::node_modules().join("typescript/lib/typescript.js");
        let hook = home.write("hook.mjs", HOOK.replace("COMPILER", &compiler.display().to_string()));
        let register = format!(
            "import {{ register }} from 'node:module'; if (!process.features.typescript) register('file://{}');",
            hook.display()
        );
        let register = home.write("register.mjs", register);
        vec![
            ("npm_config_offline", "true".into()),
            ("NODE_OPTIONS", format!("--no-warnings --import file://{}", register.display())),
        ]
    });
}

/// As the page says that it is done.
#[test]
fn javascript() {
    let page = page("javascript").replace("--lang typescript", "--lang javascript").replace(".ts", ".js");
    tutorial(&page, |_| vec![("npm_config_offline", "true".into())]);
}

const HOOK: &str = r#"
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import typescript from "COMPILER";

export async function load(url, context, next) {
  if (!url.endsWith(".ts")) return next(url, context);
  const compilerOptions = { target: "esnext", module: "esnext", verbatimModuleSyntax: true };
  const text = await readFile(fileURLToPath(url), "utf8");
  return { format: "module", shortCircuit: true, source: typescript.transpileModule(text, { compilerOptions }).outputText };
}
"#;

#[test]
fn c() {
    tutorial(&page("c"), |_| vec![("PIP_NO_INDEX", "1".into())]);
}

#[test]
fn go() {
    tutorial(&page("go"), |_| vec![("GOPROXY", "off".into()), ("GOTOOLCHAIN", "local".into())]);
}
