//! Plugins in Rust and in Go around libraries.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use super::data::Library;
use super::language::{data_folder, write};
use super::scripts::indented;
use crate::repo::Repo;

const CARGO: &str = "[package]
name = \"libraries\"
description = \"Uses crates.\"
version = \"0.1.0\"
edition = \"2024\"

[workspace]
exclude = [\".portcullis\"]

[lib]
crate-type = [\"cdylib\"]

[profile.release]
opt-level = 1
panic = \"abort\"
strip = true

[dependencies]
portcullis-guest = { path = \".portcullis/rust/guest\" }
schemars = { version = \"1\", default-features = false, features = [\"derive\", \"std\"] }
serde = { version = \"1\", features = [\"derive\"] }
";
const RUST: &str = "
#[portcullis_guest::plugin(requests(http = [\"GET,POST http://localhost/\"]))]
mod plugin {
    use portcullis_guest::ToolError;

    /// Uses a library.
    #[tool]
    pub fn use_library(library: String, server: String) -> Result<String, ToolError> {
        let used = match library.as_str() {
{ARMS}            other => return Err(ToolError::invalid(other)),
        };
        used.map(|value| value.to_string()).map_err(|error| ToolError::failed(error.to_string()))
    }
}
";

/// Versions are those of a lock file, which cargo shortens.
pub(super) fn rust(repo: &Repo, libraries: &[&Library], folder: &Path) -> Result<()> {
    let lock = data_folder(repo).join("rust/Cargo.lock");
    fs::copy(&lock, folder.join("Cargo.lock")).with_context(|| format!("cannot copy {}", repo.show(&lock)))?;
    let (mut manifest, mut text, mut arms) = (CARGO.to_owned(), "//! Uses crates.\n".to_owned(), String::new());
    if !libraries.iter().any(|one| one.name == "serde_json") {
        manifest += "serde_json = \"1\"\n";
    }
    for (at, library) in libraries.iter().enumerate() {
        for name in library.imports.names() {
            if !libraries.iter().any(|one| one.name == *name) {
                writeln!(manifest, "{name} = \"*\"")?;
            }
        }
        let features = json!(library.features);
        writeln!(
            manifest,
            "{} = {{ version = \"*\", default-features = {}, features = {features} }}",
            library.name, !library.bare
        )?;
        let body = indented(&library.code, "        ", "Ok(json!(server))");
        write!(
            text,
            "\nmod use_{at} {{\n    #[allow(unused_imports)]\n    use serde_json::json;\n\n    #[allow(unused_variables)]\n    \
             pub fn run(server: &str) -> Result<serde_json::Value, Box<dyn std::error::Error>> {{\n{body}    }}\n}}\n"
        )?;
        writeln!(arms, "            {:?} => super::use_{at}::run(&server),", library.name)?;
    }
    write(folder, "Cargo.toml", &manifest)?;
    write(folder, "src/lib.rs", &(text + &RUST.replace("{ARMS}", &arms)))
}

const GO: &str = "package main

import (
	\"context\"
	\"encoding/json\"

	\"portcullis\"
)

func main() {}

var libraries = map[string]func(server string) (any, error){}

func init() { portcullis.Tool(\"use\", \"Uses a library.\", use) }

type asked struct {
	Library string `json:\"library\"`
	Server  string `json:\"server\"`
}

func use(_ context.Context, asked asked) (string, error) {
	value, err := libraries[asked.Library](asked.Server)
	if err != nil {
		return \"\", err
	}
	text, err := json.Marshal(value)
	return string(text), err
}
";

/// Versions and digests are those of module files, which may require more than is used.
pub(super) fn go(repo: &Repo, libraries: &[&Library], folder: &Path) -> Result<()> {
    for name in ["go.mod", "go.sum"] {
        let file = data_folder(repo).join("go").join(name);
        fs::copy(&file, folder.join(name)).with_context(|| format!("cannot copy {}", repo.show(&file)))?;
    }
    let manifest = json!({
        "name": "libraries", "version": "0.1.0", "description": "Uses modules.", "requests": { "http": ["GET,POST http://localhost/"] },
    });
    write(folder, "manifest.json", &manifest.to_string())?;
    write(folder, "plugin.go", GO)?;
    for (at, library) in libraries.iter().enumerate() {
        let own = (!library.bare).then_some(&library.name);
        let imports: String =
            own.into_iter().chain(library.imports.names()).map(|name| format!("\t{name:?}\n")).collect();
        let text = format!(
            "package main\n\nimport (\n{imports})\n\nfunc init() {{\n\tlibraries[{:?}] = func(server string) (any, error) {{\n{}\t}}\n}}\n",
            library.name,
            indented(&library.code, "\t\t", "return server, nil")
        );
        write(folder, &format!("use_{at}.go"), &text)?;
    }
    Ok(())
}
