//! Mistakes in plugins, and what the compiler says about them. With `UI=overwrite` in the environment, the expected texts are
//! written anew.
#![allow(missing_docs, clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The SDK as it was compiled for this test. To have cargo compile it anew for each mistake would take a minute.
struct Compiled {
    folder: PathBuf,
    library: PathBuf,
}

impl Compiled {
    /// The last library that cargo has made of this package before this program.
    fn find(package: &str) -> Self {
        let program = std::env::current_exe().unwrap();
        let written = |path: &Path| fs::metadata(path).and_then(|it| it.modified()).unwrap();
        let folder = program.parent().unwrap().to_owned();
        let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let is_library = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let id = name.strip_prefix("libportcullis_guest-").and_then(|rest| rest.strip_suffix(".rlib"));
            // Plugins compile it here, too, in their own ways; this is as the workspace does.
            let sources = id.and_then(|id| fs::read_to_string(folder.join(format!("portcullis_guest-{id}.d"))).ok());
            sources.is_some_and(|sources| sources.contains(&format!(" {package}/src/lib.rs")))
                && written(path) <= written(&program)
        };
        let library = files.filter(is_library).max_by_key(|path| written(path)).expect("the SDK as a library");
        Self { folder, library }
    }

    /// What the compiler says about a file of this package. It is started where cargo starts it, so that it finds the SDK's sources.
    fn errors(&self, root: &Path, package: &str, file: &str) -> String {
        let mut rustc = Command::new("rustc");
        for (name, value) in [("NAME", "mistakes"), ("VERSION", "0.1.0"), ("DESCRIPTION", "Makes mistakes.")] {
            rustc.env(format!("CARGO_PKG_{name}"), value);
        }
        rustc.current_dir(root).args(["--edition", "2024", "--emit", "metadata", "-A", "warnings"]);
        rustc.args(["--color", "never", "--diagnostic-width", "140", "-o", "-"]);
        rustc.arg("--extern").arg(format!("portcullis_guest={}", self.library.display()));
        rustc.arg("-L").arg(format!("dependency={}", self.folder.display()));
        let ran = rustc.arg(format!("{package}/{file}")).output().expect("rustc");
        assert!(!ran.status.success(), "{file} compiles");
        normalized(&String::from_utf8(ran.stderr).unwrap().replace(&format!("{package}/"), ""))
    }
}

/// Without what changes with the SDK's sources: the numbers of their lines, and the width of the margin.
fn normalized(text: &str) -> String {
    let (mut lines, mut is_ours) = (Vec::new(), false);
    for line in text.lines() {
        let inner = line.trim_start();
        let number = &inner[..inner.len() - inner.trim_start_matches(|digit: char| digit.is_ascii_digit()).len()];
        let rest = inner[number.len()..].trim_start();
        if let Some(place) = inner.strip_prefix("--> ").or_else(|| inner.strip_prefix("::: ")) {
            is_ours = place.starts_with("tests/");
            let place = if is_ours { place } else { place.split(':').next().unwrap() };
            lines.push(format!("  --> {place}"));
        } else if line.starts_with("error: aborting") || line.starts_with("For more information") {
            // Only the errors themselves.
        } else if rest.starts_with('|') && (!number.is_empty() || line.starts_with(' ')) {
            let number = if is_ours { number } else { "" };
            lines.push(format!("{number:>3} {rest}").trim_end().to_owned());
        } else if inner.starts_with("= ") {
            lines.push(format!("    {inner}"));
        } else {
            lines.push(line.trim_end().to_owned());
        }
    }
    lines.join("\n").trim_end().to_owned() + "\n"
}

#[test]
fn mistakes_are_explained() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = folder.ancestors().nth(2).unwrap();
    let package = folder.strip_prefix(root).unwrap().display().to_string();
    let (compiled, overwrites) =
        (Compiled::find(&package), std::env::var_os("UI").is_some_and(|value| value == "overwrite"));
    let mut files: Vec<_> = fs::read_dir(folder.join("tests/ui")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    assert!(!files.is_empty());
    let mut wrong = Vec::new();
    for path in files {
        let file = path.strip_prefix(folder).unwrap().display().to_string();
        let (said, expected) = (compiled.errors(root, &package, &file), path.with_extension("stderr"));
        if overwrites {
            fs::write(expected, said).unwrap();
        } else if fs::read_to_string(expected).unwrap_or_default() != said {
            wrong.push(format!("{file}:\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "the compiler says something else than expected about\n{}", wrong.join("\n"));
}
