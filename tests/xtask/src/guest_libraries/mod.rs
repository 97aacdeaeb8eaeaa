//! `cargo xtask libraries --guests`: libraries that real tools use, built into plugins, a few lines with each called in the sandbox. Of `tests/libraries`,
//! a file for each language; the tests of the suite do the same with the libraries that are marked `ci`.

mod data;
mod language;
mod plugin;
mod rust_and_go;
mod scripts;
mod versions;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::{Value, json};

pub(crate) use self::language::Language;

use self::data::Library;
use self::language::data_folder;
use self::plugin::Plugin;
use crate::command::{cargo, check, output, step};
use crate::repo::Repo;
use crate::stamp::{folders, unless_fresh};
use crate::{built, document, node, wasm};

#[derive(Args)]
pub(crate) struct Options {
    /// Libraries inside of plugins. (Those of clients: `cargo xtask clients --libraries`.)
    #[arg(long, required = true)]
    guests: bool,
    /// Only those of this language.
    #[arg(long, value_enum)]
    language: Option<Language>,
    /// Only the libraries of these names, such as icalendar.
    only: Vec<String>,
    /// Replaces the tables in guest-sdk.
    #[arg(long, conflicts_with = "only")]
    write: bool,
}

/// Builds, calls and prints a table for each language; fails unless all is as the data says.
pub(crate) fn run(repo: &Repo, options: &Options) -> Result<()> {
    debug_assert!(options.guests, "it is required");
    built::host(repo)?;
    step("building the part of the suite that calls them", || {
        check(cargo().args(["build", "--quiet", "--package", "suite", "--bins"]).current_dir(&repo.root))
    })?;
    let (mut wrong, mut found) = (Vec::new(), 0);
    for language in Language::ALL.into_iter().filter(|one| options.language.is_none_or(|only| only == *one)) {
        let mut libraries = data::read(repo, language)?;
        libraries.retain(|one| options.only.is_empty() || options.only.contains(&one.name));
        found += libraries.len();
        if libraries.is_empty() {
            continue;
        }
        let index = all(repo, language, &libraries)?;
        let mut calls = Command::new(repo.binary("debug", "guest-libraries"));
        calls.arg(language.name()).arg(&index).current_dir(&repo.root);
        calls.env("PORTCULLIS_BIN", repo.binary("debug", "portcullis"));
        if !options.write {
            println!("\n{}\n", language.name());
            wrong.extend(check(&mut calls).is_err().then_some(language.name()));
            continue;
        }
        let page = format!("guest-sdk/{}/LIBRARIES.md", language.name());
        let table =
            output(&mut calls).with_context(|| format!("not all is as the data says; {page} is not written"))?;
        document::replace(repo, &page, "libraries", &table)?;
    }
    if found == 0 {
        bail!("tests/libraries has none of these names");
    }
    if !wrong.is_empty() {
        bail!("not all is as tests/libraries says, in {}", wrong.join(", "));
    }
    Ok(())
}

/// The component with the libraries that the tests call, `target/languages/libraries-<language>.wasm`.
pub(crate) fn of_tests(repo: &Repo, language: Language) -> Result<()> {
    let libraries: Vec<_> = data::read(repo, language)?.into_iter().filter(|one| one.ci).collect();
    let to = repo.languages().join(format!("libraries-{}.wasm", language.name()));
    let mut inputs = vec![data_folder(repo), repo.root.join("tests/languages/npm"), repo.wit()];
    inputs.push(repo.root.join("host/crates/authoring"));
    let sdk = repo.root.join("guest-sdk").join(language.name());
    inputs.extend(folders(&sdk)?);
    let stamp = repo.target.join("built").join(format!("libraries-{}", language.name()));
    unless_fresh(&stamp, &inputs, &to, || {
        prepare(repo, language)?;
        fs::create_dir_all(repo.languages())?;
        let plugin = Plugin { repo, language, name: "tests", libraries: &libraries.iter().collect::<Vec<_>>() };
        step(&format!("building libraries in {} into a plugin", language.name()), || {
            plugin.build(&to)?.map_err(|why| anyhow::anyhow!("{why}"))
        })
    })
}

/// What all components of a language need.
fn prepare(repo: &Repo, language: Language) -> Result<()> {
    match language {
        Language::Rust => wasm::add_target(repo),
        Language::Javascript => node::install(
            &repo.root.join("tests/languages/npm"),
            &plugin::folder(repo, language),
            "installing the packages of tests/languages/npm",
            &[],
        ),
        Language::Python | Language::Go => Ok(()),
    }
}

/// Builds all into components and writes what is where: a list of names, each with its version, and a component or what went wrong.
fn all(repo: &Repo, language: Language, libraries: &[Library]) -> Result<PathBuf> {
    prepare(repo, language)?;
    let mut built = Vec::new();
    for (at, group) in groups(libraries, language.together()).into_iter().enumerate() {
        let name = format!("group-{at}");
        let plugin = Plugin { repo, language, name: &name, libraries: &group };
        let to = plugin.folder().with_extension("wasm");
        let what = format!("building {} into {}", plugin.shown(), repo.show(&to));
        match step(&what, || plugin.build(&to))? {
            Ok(()) => built.extend(group.iter().map(|one| (*one, Ok(to.clone())))),
            Err(why) if group.len() == 1 => built.push((group[0], Err(why))),
            // One of them is in the way; the table says which.
            Err(_) => {
                for one in group {
                    built.push((one, alone(repo, language, one)?));
                }
            }
        }
    }
    built.sort_by_key(|(library, _)| libraries.iter().position(|one| one.name == library.name));
    let versions = versions::of(repo, language)?;
    let entries: Vec<Value> = built.iter().map(|(library, built)| entry(library, built, &versions)).collect();
    let index = plugin::folder(repo, language).join("index.json");
    fs::write(&index, Value::from(entries).to_string()).with_context(|| format!("cannot write {}", index.display()))?;
    Ok(index)
}

fn alone(repo: &Repo, language: Language, library: &Library) -> Result<Result<PathBuf, String>> {
    let name = format!("one-{}", library.name.replace(['/', '.'], "-"));
    let plugin = Plugin { repo, language, name: &name, libraries: &[library] };
    let to = plugin.folder().with_extension("wasm");
    Ok(step(&format!("building {} alone", library.name), || plugin.build(&to))?.map(|()| to))
}

fn entry(library: &Library, built: &Result<PathBuf, String>, versions: &versions::Versions) -> Value {
    let (component, error) = match built {
        Ok(path) => (Some(path.display().to_string()), None),
        Err(why) => (None, Some(why)),
    };
    json!({ "library": library.name, "version": versions.get(&library.name), "component": component, "error": error })
}

/// Those that fail and those that are large are alone; those that send requests are together, since each run makes another component of theirs.
fn groups(libraries: &[Library], together: usize) -> Vec<Vec<&Library>> {
    let is_alone = |one: &&Library| one.alone || one.fails.is_some();
    let mut groups: Vec<Vec<_>> = libraries.iter().filter(is_alone).map(|one| vec![one]).collect();
    for sends in [true, false] {
        let of_kind: Vec<_> = libraries.iter().filter(|one| !is_alone(one) && one.http == sends).collect();
        groups.extend(of_kind.chunks(together.min(of_kind.len().max(1))).map(<[_]>::to_vec));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_likely_to_fail_is_alone() {
        let one = |name: &str, http, fails: bool| Library {
            name: name.into(),
            http,
            fails: fails.then(|| "why".into()),
            ..Library::default()
        };
        let all = [
            one("a", false, false),
            one("b", true, false),
            one("c", false, true),
            one("d", false, false),
            one("e", false, false),
        ];
        let names: Vec<String> =
            groups(&all, 2).iter().map(|group| group.iter().map(|library| library.name.as_str()).collect()).collect();
        assert_eq!(names, ["c", "b", "ad", "e"]);
    }
}
