//! Go: the installed Go compiles the SDK, the bindings and the author's package into one module.

mod overlay;

use crate::command::{note, quiet, step};
use crate::component::module::{self, World};
use crate::component::passive_segments;
use crate::project::Project;
use anyhow::{Context, bail, ensure};
use overlay::Overlay;
use runtime::engine::{Preinitialized, preinitialize};
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The packages of the generated bindings, and those of the SDK that implement what they export.
const BINDINGS: &str = "portcullis/internal/bindings";
const EXPORTS: &str = "portcullis/internal/exports";
/// The package that generated code needs at run time: its name in that code, and its name in the SDK.
const RUNTIME: [&str; 2] = ["go.bytecodealliance.org/pkg/wit/", "portcullis/internal/wit/"];

const GO: &str = "Go 1.25 or newer builds plugins in Go: https://go.dev/dl (the package golang-go of Debian is older up to Debian 13)";
const OLDEST: u32 = 25;
/// Minor versions of Go whose runtime is known.
const KNOWN: RangeInclusive<u32> = 25..=26;
/// A file of the bindings. It lets the SDK renew what must differ between the instances of a component, since they all begin
/// with the memory of its build.
const IMAGE: (&str, &str) = ("wit_exports/image.go", "package wit_exports\n\nimport _ \"portcullis/internal/image\"\n");

/// Compiled into the author's package if it uses net/http: it sends all requests through the host. Other plugins would be 7 MB
/// larger.
const NET_HTTP: (&str, &str) =
    ("zzz_portcullis_net_http.go", "package main\n\nimport _ \"portcullis/httpclient/everywhere\"\n");

/// Prints what the plugin has registered. For a native run, it is compiled into the author's package, as the last of its files.
const DESCRIBE: &str = "package main

import (
	\"fmt\"
	\"os\"
	\"portcullis\"
)

func init() {
	fmt.Println(portcullis.Offers())
	os.Exit(0)
}
";

pub(crate) fn build(project: &Project) -> anyhow::Result<Vec<u8>> {
    let version = check_version()?;
    let is_known = minor(&version).is_some_and(|minor| KNOWN.contains(&minor));
    let version = of_modules(&version);
    let (work, bindings) = (project.work(), project.work().join("bindings"));
    fs::create_dir_all(&bindings)?;
    let workspace = work.join("go.work");
    // The workspace names this folder, so it must be a module even before the bindings are in it.
    module_file(&bindings)?;
    let uses = [project.folder.clone(), work.join("go"), bindings.clone()].map(|path| format!("use {path:?}\n"));
    // The workspace must name a version that is as new as those of its modules; each module keeps the version of the language
    // that it names.
    fs::write(&workspace, format!("go {version}\n\n{}", uses.concat()))?;
    let exports = offers(project, &workspace)?;
    ensure!(
        !exports.is_empty(),
        "{} offers nothing: call portcullis.Tool, Resource or Prompt in an init function",
        project.folder.display()
    );
    let mut world = World::write(&work.join("wit"), &exports)?;
    let options = wit_bindgen_go::Opts {
        // Nobody reads the generated code.
        format: wit_bindgen_go::Format::False,
        pkg_name: Some(BINDINGS.to_owned()),
        export_pkg_name: Some(EXPORTS.to_owned()),
        ..Default::default()
    };
    world.bind(options.build(), &bindings, |text| text.replace(RUNTIME[0], RUNTIME[1]))?;
    module_file(&bindings)?;
    let goroot = goroot(project, &workspace)?.filter(|_| is_known);
    let more = if imports_net_http(project, &workspace)? { &[NET_HTTP][..] } else { &[] };
    let overlay = overlay::overlay(goroot.as_deref(), project, more)?;
    let (component, starts_anew) = step("building the component", || {
        let (mut module, starts_anew) = started(project, &workspace, &overlay)?;
        world.mark(&mut module)?;
        Ok((module::component(&module)?, starts_anew))
    })?;
    if let Some(why) = starts_anew {
        note(&format!("Go starts anew in each call, which takes longer: {why}"));
    }
    Ok(component)
}

/// The module with the memory that Go's runtime and the author's packages have after their start. If that cannot be made, a
/// module that starts in each call, and the reason.
fn started(project: &Project, workspace: &Path, overlay: &Overlay) -> anyhow::Result<(Vec<u8>, Option<String>)> {
    let why = if overlay.renews {
        let image = project.work().join("bindings").join(IMAGE.0);
        fs::write(&image, IMAGE.1).with_context(|| format!("cannot write {}", image.display()))?;
        let started = preinitialize(&compile(project, workspace, overlay)?);
        fs::remove_file(image)?;
        match started {
            Ok(Preinitialized::Module(module)) => return Ok((passive_segments::remove(&module)?, None)),
            Ok(Preinitialized::Depends(on)) => format!("an init function or a package's variable asks for {on}"),
            Err(error) => error.to_string(),
        }
    } else {
        format!("this is not a Go 1.{} to 1.{} as it is distributed", KNOWN.start(), KNOWN.end())
    };
    Ok((compile(project, workspace, overlay)?, Some(why)))
}

fn compile(project: &Project, workspace: &Path, overlay: &Overlay) -> anyhow::Result<Vec<u8>> {
    let module = project.work().join("module.wasm");
    let mut go = go(project, workspace);
    go.args(["build", "-buildmode=c-shared", "-trimpath"]).env("GOOS", "wasip1").env("GOARCH", "wasm");
    // The bindings use functions of Go's runtime that are not public; what only a debugger reads is left out.
    go.args(["-ldflags=-checklinkname=0 -s -w", "-overlay"]).arg(&overlay.file).arg("-o").arg(&module);
    // The author should see what the compiler reports.
    let status = go.arg(".").stderr(Stdio::inherit()).status().with_context(|| GO.to_owned())?;
    if !status.success() {
        bail!("Go could not build {}", project.folder.display());
    }
    fs::read(&module).context("Go wrote no module")
}

/// Runs the plugin natively to ask what it offers. This also reports a wrong tag or type.
fn offers(project: &Project, workspace: &Path) -> anyhow::Result<Vec<String>> {
    let describe = project.work().join("describe.go");
    fs::write(&describe, DESCRIBE)?;
    let overlay = project.work().join("overlay.json");
    let there = project.folder.join("zzz_portcullis_describe.go");
    fs::write(&overlay, serde_json::json!({ "Replace": { there.display().to_string(): describe } }).to_string())?;
    let mut ask = go(project, workspace);
    ask.arg("run").arg("-overlay").arg(&overlay).arg(".");
    let said = quiet(&mut ask, GO).with_context(|| format!("cannot load {}", project.folder.display()))?;
    Ok(said.lines().last().unwrap_or_default().split_whitespace().map(ToOwned::to_owned).collect())
}

/// Whether the plugin or a package that it uses imports net/http.
fn imports_net_http(project: &Project, workspace: &Path) -> anyhow::Result<bool> {
    let mut list = go(project, workspace);
    let said = quiet(list.args(["list", "-deps", "."]).env("GOOS", "wasip1").env("GOARCH", "wasm"), GO)?;
    Ok(said.lines().any(|package| package == "net/http"))
}

/// The folder of Go's own packages, if they can be replaced: a Go that was downloaded like a module is read-only.
fn goroot(project: &Project, workspace: &Path) -> anyhow::Result<Option<PathBuf>> {
    let said = quiet(go(project, workspace).args(["env", "GOROOT", "GOMODCACHE"]), GO)?;
    let (root, modules) = said.trim().split_once('\n').context("go env has not answered")?;
    Ok((modules.is_empty() || !Path::new(root).starts_with(modules)).then(|| root.into()))
}

/// Go as it is installed. Modules that the plugin requires come from the author's own settings.
fn go(project: &Project, workspace: &Path) -> Command {
    let mut go = Command::new("go");
    go.env("GOTOOLCHAIN", "local").env("CGO_ENABLED", "0").env("GOWORK", workspace).current_dir(&project.folder);
    go
}

fn module_file(bindings: &Path) -> anyhow::Result<()> {
    let text = format!("module {BINDINGS}\n\ngo 1.{OLDEST}\n");
    fs::write(bindings.join("go.mod"), text).with_context(|| format!("cannot write into {}", bindings.display()))
}

/// The version of the installed Go: `go1.26.8`.
fn check_version() -> anyhow::Result<String> {
    let mut ask = Command::new("go");
    let version = quiet(ask.args(["env", "GOVERSION"]).env("GOTOOLCHAIN", "local"), GO)?;
    ensure!(minor(&version).is_some_and(|minor| minor >= OLDEST), "{GO}; this is {}", version.trim());
    Ok(version)
}

/// The version as module files name it, without what a build of Go adds to it: `go1.26.8-custom X:experiment`.
fn of_modules(version: &str) -> String {
    let version = version.trim().trim_start_matches("go");
    version.split(|c: char| c == '-' || c.is_whitespace()).next().unwrap_or_default().to_owned()
}

/// The second number of `go1.26.8`.
fn minor(version: &str) -> Option<u32> {
    version.trim().strip_prefix("go1.")?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_go_are_read() {
        let known =
            [("go1.26.8\n", Some(26)), ("go1.25rc1", Some(25)), ("go1.9", Some(9)), ("devel", None), ("go2", None)];
        for (version, expected) in known {
            assert_eq!(minor(version), expected, "{version}");
        }
        for (version, expected) in
            [("go1.26.8\n", "1.26.8"), ("go1.25rc1 X:aliases", "1.25rc1"), ("go1.25.3-custom", "1.25.3")]
        {
            assert_eq!(of_modules(version), expected);
        }
    }
}
