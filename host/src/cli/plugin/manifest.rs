//! `portcullis plugin manifest`.

use crate::cli::text::shell_quote;
use anyhow::{Context, ensure};
use platform::files::replace_file;
use platform::telemetry::printable;
use plugins::package::{self, Manifest, PackageError, inspect, with_manifest};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use toml::{Table, Value};

/// For a component without a version of its own.
const FIRST_VERSION: &str = "0.1.0";

#[derive(clap::Args)]
pub(in crate::cli) struct ManifestCommand {
    /// The component file.
    component: PathBuf,
    /// Set a key: name=weather, version=1.0.0, description=TEXT, survive=power-loss, or a request such as
    /// requests.filesystem=read or 'requests.http=["https://api.example.com"]'. May be repeated. Without it, the manifest is printed.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Write here instead of into the file itself.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl ManifestCommand {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let path = &self.component;
        let bytes = package::read_file(path)?;
        let refused = |error| PackageError::Invalid { path: path.clone(), error };
        let manifest = inspect(&bytes).map_err(refused)?.manifest;
        if self.set.is_empty() {
            let command = format!("portcullis plugin manifest {} --set", shell_quote(&path.display().to_string()));
            let manifest = manifest.with_context(|| {
                format!(
                    "{} has no manifest, so it requests nothing and grants have no effect. To add one: {command} name=NAME {} requests.filesystem=read",
                    path.display(),
                    "--set"
                )
            })?;
            println!("{}", printable_document(&to_table(&manifest)?));
            return Ok(ExitCode::SUCCESS);
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let first = || Manifest { name, version: FIRST_VERSION.to_owned(), ..Manifest::default() };
        let mut table = to_table(&manifest.unwrap_or_else(first))?;
        for setting in &self.set {
            set(&mut table, setting).with_context(|| format!("`{}`", printable(setting)))?;
        }
        let json = serde_json::to_vec(&table)?;
        let manifest = Manifest::parse(&json).map_err(anyhow::Error::msg)?;
        let stamped = with_manifest(&bytes, &manifest).with_context(|| format!("{} is damaged", path.display()))?;
        inspect(&stamped).map_err(refused)?;
        let output = self.output.as_ref().unwrap_or(path);
        let permissions = fs::metadata(path).map(|metadata| metadata.permissions());
        let written = permissions.and_then(|same| replace_file(output, &stamped, same));
        written.with_context(|| format!("cannot write {}", output.display()))?;
        println!(
            "{} has this manifest now:\n{}",
            output.display(),
            printable_document(&to_table(&manifest)?).trim_end()
        );
        Ok(ExitCode::SUCCESS)
    }
}

fn to_table(manifest: &Manifest) -> anyhow::Result<Table> {
    Ok(Table::try_from(manifest)?)
}

fn printable_document(table: &Table) -> String {
    table.to_string().lines().map(|line| format!("  {}\n", printable(line))).collect()
}

/// Sets `a.b=VALUE`. The value is TOML, or plain text if it is not valid TOML.
fn set(table: &mut Table, setting: &str) -> anyhow::Result<()> {
    let (key, text) = setting.split_once('=').context("write KEY=VALUE, such as version=1.0.0")?;
    let parsed = format!("value = {text}").parse::<Table>().ok().and_then(|mut parsed| parsed.remove("value"));
    // A version such as 1.0 is no number.
    let is_text = matches!(key, "name" | "version" | "description");
    let plain = || Value::String(text.to_owned());
    let value = parsed.filter(|value| !is_text || value.is_str()).unwrap_or_else(plain);
    let mut parts: Vec<&str> = key.split('.').collect();
    let last = parts.pop().unwrap_or_default();
    ensure!(!last.is_empty(), "the key is missing");
    let mut inner = table;
    for part in parts {
        let next = inner.entry(part).or_insert_with(|| Value::Table(Table::new()));
        inner = next.as_table_mut().with_context(|| format!("`{part}` has no keys"))?;
    }
    inner.insert(last.to_owned(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_toml_or_text() {
        let mut table = Table::new();
        for setting in [
            "version=1.0",
            "requests.filesystem=read",
            "requests.env=[\"TZ\"]",
            "requests.state=true",
            "description=a = b",
        ] {
            set(&mut table, setting).unwrap();
        }
        let expected = "version = \"1.0\"\ndescription = \"a = b\"\n[requests]\nfilesystem = \"read\"\nenv = [\"TZ\"]\nstate = true";
        assert_eq!(table, expected.parse().unwrap());
        assert!(
            set(&mut table, "version").is_err()
                && set(&mut table, "=1").is_err()
                && set(&mut table, "version.x=1").is_err()
        );
    }
}
