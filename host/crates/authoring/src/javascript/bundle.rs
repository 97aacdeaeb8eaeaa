//! esbuild makes one module of a plugin in JavaScript, the SDK, and packages.

use crate::command::quiet;
use crate::toolchain;
use anyhow::Context;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages whose build for browsers works within a page only. Their other build is used instead.
const NEED_A_PAGE: [&str; 1] = ["turndown"];

/// Makes all modules of one plugin.
pub(crate) struct Bundler {
    tools: PathBuf,
    folder: PathBuf,
    work: PathBuf,
    /// Options of esbuild for all modules.
    common: Vec<String>,
}

/// A module that was made.
pub(crate) struct Bundle {
    pub(crate) path: PathBuf,
    pub(crate) contents: Contents,
}

/// What esbuild reports about a module.
#[derive(Deserialize)]
pub(crate) struct Contents {
    inputs: BTreeMap<String, Input>,
    outputs: BTreeMap<String, Output>,
}

#[derive(Deserialize)]
struct Input {
    imports: Vec<Import>,
}

#[derive(Deserialize)]
struct Output {
    imports: Vec<Import>,
    inputs: BTreeMap<String, Share>,
}

/// The part of a module that comes from one file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Share {
    bytes_in_output: u64,
}

#[derive(Deserialize)]
pub(crate) struct Import {
    /// The file to which the import leads.
    pub(crate) path: String,
    /// The name that is written in the import.
    pub(crate) original: Option<String>,
}

impl Contents {
    /// Files, and what each imports.
    pub(crate) fn imports(&self) -> impl Iterator<Item = (&str, &Import)> {
        self.inputs.iter().flat_map(|(from, input)| input.imports.iter().map(move |import| (from.as_str(), import)))
    }

    /// Whether the module contains something of a file.
    pub(crate) fn has(&self, file: &str) -> bool {
        self.outputs.values().any(|output| output.inputs.get(file).is_some_and(|share| share.bytes_in_output > 0))
    }

    /// What the module itself imports.
    pub(crate) fn open_imports(&self) -> impl Iterator<Item = &str> {
        self.outputs.values().flat_map(|output| &output.imports).map(|import| import.path.as_str())
    }
}

/// Whether a file is of a package, rather than the author's own.
pub(crate) fn is_of_package(file: &str) -> bool {
    Path::new(file).components().any(|part| part.as_os_str() == "node_modules")
}

impl Bundler {
    /// `aliases` are options of esbuild.
    pub(crate) fn new(tools: &Path, folder: &Path, work: &Path, aliases: Vec<String>) -> anyhow::Result<Self> {
        let mut common: Vec<String> =
            ["--bundle", "--format=esm", "--target=esnext", "--log-level=warning", "--charset=utf8"]
                .map(ToOwned::to_owned)
                .into();
        common.extend(aliases);
        // What the SDK needs for global names.
        common.push(format!("--alias:portcullis-tools={}", tools.display()));
        // As bundlers for browsers do.
        common.extend(
            ["--define:global=globalThis", "--define:process.env.NODE_ENV=\"production\""].map(ToOwned::to_owned),
        );
        let mut bundler = Self { tools: tools.to_owned(), folder: folder.to_owned(), work: work.to_owned(), common };
        for package in NEED_A_PAGE {
            if folder.ancestors().any(|parent| parent.join("node_modules").join(package).is_dir()) {
                let entry = format!("export {{ default }} from {package:?};\n");
                let options = ["--platform=neutral", "--main-fields=module,main"].map(ToOwned::to_owned);
                let made = bundler.bundle(package, &entry, &options)?;
                bundler.common.push(format!("--alias:{package}={}", made.path.display()));
            }
        }
        Ok(bundler)
    }

    /// Makes imports of packages that are not installed fail at run time: packages that can do without them handle the failure.
    /// Otherwise the component would import an interface of that name.
    pub(crate) fn leave_out(&mut self, contents: &Contents) -> anyhow::Result<()> {
        let is_ours = |name: &str| name.contains(':') || name.starts_with("portcullis-guest");
        for name in contents.open_imports().filter(|name| !is_ours(name)) {
            let file: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
            let file = self.work.join("absent").join(format!("package-{file}.cjs"));
            let said = serde_json::Value::from(format!("Cannot find module '{name}'"));
            let text = format!("throw Object.assign(new Error({said}), {{ code: \"MODULE_NOT_FOUND\" }});\n");
            fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
            self.common.push(format!("--alias:{name}={}", file.display()));
        }
        Ok(())
    }

    /// One module of everything that the entry imports.
    pub(crate) fn bundle(&self, name: &str, entry: &str, options: &[String]) -> anyhow::Result<Bundle> {
        let in_work = |end: &str| self.work.join(format!("{name}{end}"));
        let (from, path, contents) = (in_work("-entry.mjs"), in_work(".mjs"), in_work(".json"));
        fs::write(&from, entry).with_context(|| format!("cannot write {}", from.display()))?;
        let mut esbuild = program(&self.tools);
        esbuild.current_dir(&self.folder).arg(&from).args(&self.common).args(options);
        esbuild.arg(format!("--outfile={}", path.display())).arg(format!("--metafile={}", contents.display()));
        quiet(&mut esbuild, toolchain::NODE)?;
        let contents =
            serde_json::from_slice(&fs::read(&contents)?).context("esbuild has not said what it made a module of")?;
        Ok(Bundle { path, contents })
    }
}

/// esbuild itself, for the one platform for which npm has installed it. Its wrapper for Node adds a stack trace of its own to
/// an author's mistakes.
fn program(tools: &Path) -> Command {
    let platforms = fs::read_dir(tools.join("@esbuild")).into_iter().flatten().flatten();
    match platforms.map(|platform| platform.path().join("bin/esbuild")).find(|program| program.is_file()) {
        Some(program) => Command::new(program),
        None => {
            let mut node = Command::new("node");
            node.arg(tools.join("esbuild/bin/esbuild"));
            node
        }
    }
}
