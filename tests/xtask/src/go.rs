//! Go: plugins written with `guest-sdk/go`, compiled by the Go of the machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::bindings::{self, Language, World};
use crate::command::{check, output, step};
use crate::repo::Repo;
use crate::stamp::unless_fresh;
use crate::wit;

/// The packages of the generated bindings, and those of the SDK that implement what they export.
const BINDINGS: &str = "portcullis/internal/bindings";
const EXPORTS: &str = "portcullis/internal/exports";

/// The module that generated bindings use. It comes with the crate that generates them, so the versions match.
const RUNTIME: &str = "go.bytecodealliance.org/pkg";

/// Builds the component `to` of the main package and the world of this name in a folder.
pub(crate) fn component(repo: &Repo, folder: &str, name: &str, to: &Path) -> Result<()> {
    let from = repo.root.join(folder);
    let [world, manifest] = ["world.wit", "manifest.json"].map(|name| from.join(name));
    let (wasi, runtime, sdk) = (wit::wasi(repo)?, runtime(repo)?, sdk(repo));
    let mut inputs = vec![from.clone(), repo.wit(), wasi.clone()];
    inputs.extend(folders(&sdk)?);
    inputs.extend(folders(&runtime.join("wit"))?);
    let work = repo.target.join("go").join(name);
    unless_fresh(&work.join("stamp"), &inputs, to, || {
        check_version()?;
        step(&format!("building {folder}"), || {
            let (bound, generated) = (work.join("wit"), work.join("bindings"));
            let mut world = World::bound(repo, &world, name, &wasi, &bound)?;
            if generated.exists() {
                fs::remove_dir_all(&generated)?;
            }
            world.generate(&Language::Go(BINDINGS, EXPORTS), &generated)?;
            fs::write(generated.join("go.mod"), format!("module {BINDINGS}\n\ngo 1.25\n"))?;
            let workspace = work.join("go.work");
            let uses =
                [&from, &sdk, &generated, &runtime].map(|module| format!("use {:?}\n", module.display().to_string()));
            fs::write(&workspace, format!("go 1.25\n\n{}", uses.concat()))?;
            let module = work.join("module.wasm");
            let mut go = go();
            go.args(["build", "-buildmode=c-shared", "-trimpath"]);
            // The bindings link to a function of Go's runtime that is not public; what only a debugger reads is left out.
            go.args(["-ldflags=-checklinkname=0 -s -w", "-o"]).arg(&module).arg(".");
            go.env("GOOS", "wasip1").env("GOARCH", "wasm").env("GOWORK", &workspace).current_dir(&from);
            check(&mut go).with_context(|| format!("{folder} does not compile"))?;
            let mut module = fs::read(&module)?;
            world.mark(&mut module)?;
            let built = work.join("built.wasm");
            fs::write(&built, bindings::component(&module)?)?;
            wit::with_manifest(&built, &manifest, to)
        })
    })
}

/// Checks the SDK and runs its tests on this machine.
pub(crate) fn test(repo: &Repo) -> Result<()> {
    check_version()?;
    let unformatted =
        output(Command::new("gofmt").args(["-l", "guest-sdk/go", "tests/languages/go"]).current_dir(&repo.root))?;
    if !unformatted.is_empty() {
        bail!("some files are not formatted; `gofmt -w .` mends it:\n{unformatted}");
    }
    for task in ["vet", "test"] {
        check(go().args([task, "./..."]).env("GOWORK", "off").current_dir(sdk(repo)))
            .context("guest-sdk/go has failing tests")?;
    }
    Ok(())
}

/// Go as it is installed: nothing is fetched.
fn go() -> Command {
    let mut go = Command::new("go");
    go.env("GOTOOLCHAIN", "local").env("GOPROXY", "off").env("GOFLAGS", "-mod=readonly").env("CGO_ENABLED", "0");
    go
}

fn sdk(repo: &Repo) -> PathBuf {
    repo.root.join("guest-sdk/go")
}

fn runtime(repo: &Repo) -> Result<PathBuf> {
    let module = wit::crate_folder(repo, "wit-bindgen-go")?.join("src/pkg");
    if !module.join("go.mod").exists() {
        bail!("the crate wit-bindgen-go has no longer the module {RUNTIME}, which its bindings use");
    }
    Ok(module)
}

/// A folder, and all folders below it.
fn folders(of: &Path) -> Result<Vec<PathBuf>> {
    let mut all = vec![of.to_owned()];
    for entry in fs::read_dir(of).with_context(|| format!("cannot read {}", of.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            all.extend(folders(&path)?);
        }
    }
    all.sort();
    Ok(all)
}

fn check_version() -> Result<()> {
    let need =
        "Go 1.25 or newer is needed for plugins in Go. On Debian: `apt-get install golang`, or from the project's site";
    let version = output(Command::new("go").args(["env", "GOVERSION"]).env("GOTOOLCHAIN", "local")).context(need)?;
    let minor = version.trim().strip_prefix("go1.").and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    if minor.and_then(|minor| minor.parse::<u32>().ok()).is_none_or(|minor| minor < 25) {
        bail!("{need}; this one is {}", version.trim());
    }
    Ok(())
}
