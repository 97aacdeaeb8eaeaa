//! Holds the steps against the repository, and against the recipe's table in ARCHITECTURE.md.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::step::Step;
use super::steps::STEPS;
use super::{CHANGED, LINKED, changed};
use crate::repo::Repo;

/// The places of each layer: what its rows quote. A row without a layer continues the one above.
fn layers(architecture: &str) -> BTreeMap<String, BTreeSet<String>> {
    let recipe = architecture.split("\n## A new import\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut layers = BTreeMap::<String, BTreeSet<String>>::new();
    let mut layer = String::new();
    for row in recipe.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells: Vec<_> = row.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect();
        if !cells[0].is_empty() {
            layer = cells[0].to_owned();
        }
        let places = cells[1].split('`').skip(1).step_by(2).filter(|quoted| quoted.contains('/'));
        layers.entry(layer.clone()).or_default().extend(places.map(str::to_owned));
    }
    layers
}

/// The path of a place: as it is written, or in one of the host's crates.
fn path_of(root: &Path, place: &str) -> String {
    if root.join(place).exists() {
        return place.to_owned();
    }
    let (name, below) = place.split_once('/').unwrap();
    let path = format!("host/crates/{name}/src/{below}");
    if root.join(format!("{path}.rs")).exists() { path + ".rs" } else { path }
}

/// Whether a place covers the file of a step.
fn covers(root: &Path, step: &Step) -> bool {
    let place = path_of(root, step.place);
    let (place, file) = (Path::new(&place), Path::new(step.file));
    let beside = place.parent() == file.parent();
    let declares = file.ends_with("mod.rs") || file.ends_with("lib.rs") || file.ends_with("main.rs");
    file.starts_with(place) || (beside && (step.is_new() || declares))
}

#[test]
fn the_copy_has_every_member_of_the_workspace_and_every_sdk() {
    let repo = Repo::locate().unwrap();
    let manifest = fs::read_to_string(repo.root.join("Cargo.toml")).unwrap();
    let members = manifest.lines().find(|line| line.starts_with("members = ")).unwrap();
    let mut members: Vec<_> = members.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    assert!(members.len() >= 8, "{members:?}");
    // The program has the SDKs inside.
    let sdks = fs::read_dir(repo.root.join("guest-sdk")).unwrap().map(|entry| entry.unwrap());
    let folders = sdks.filter(|entry| entry.file_type().unwrap().is_dir()).map(|entry| entry.file_name());
    members.extend(folders.map(|name| format!("guest-sdk/{}", name.display())));
    let copied: Vec<_> = CHANGED.iter().chain(&LINKED).collect();
    for member in members {
        assert!(copied.iter().any(|part| Path::new(&member).starts_with(part)), "{member} is not in the copy");
    }
}

#[test]
fn every_step_can_be_done() {
    let repo = Repo::locate().unwrap();
    let mut wrong = vec![];
    for step in STEPS {
        let path = repo.root.join(step.file);
        assert!(CHANGED.iter().any(|part| step.file.starts_with(part)), "{} is not in the copy", step.file);
        assert_eq!(path.exists(), !step.is_new(), "{}: only a new file is not there", step.file);
        if !step.is_new() {
            // Each alone, then all of the file: none may change the anchor of another.
            let text = fs::read_to_string(&path).unwrap();
            wrong.extend(step.apply(&text).err().map(|error| error.to_string()));
            wrong.extend(changed(Path::new(step.file), text).err().map(|error| error.to_string()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_and_the_steps_name_the_same_places() {
    let repo = Repo::locate().unwrap();
    let architecture = fs::read_to_string(repo.root.join("ARCHITECTURE.md")).unwrap();
    let recipe = layers(&architecture);
    assert!(recipe.len() >= 8, "the table has the layers {:?}", recipe.keys());
    let mut wrong = vec![];
    for step in STEPS {
        let named = recipe.get(step.layer).is_some_and(|places| places.contains(step.place));
        if !named || !covers(&repo.root, step) {
            wrong.push(format!("{}: `{}` is not named for {}", step.layer, step.place, step.file));
        }
    }
    for (layer, places) in &recipe {
        let unused = places.iter().filter(|place| !STEPS.iter().any(|it| it.layer == layer && it.place == **place));
        wrong.extend(unused.map(|place| format!("{layer}: no step is done in `{place}`")));
    }
    assert!(wrong.is_empty(), "the recipe in ARCHITECTURE.md and the toy differ:\n{}", wrong.join("\n"));
}

#[test]
fn rows_are_read_with_their_layers() {
    let text = "\n## A new import\n\n| layer | place | says |\n|---|---|---|\n| a | `x/y` and `Z` | `n/o` |\n| | `x/z` | b |\n";
    let places = BTreeSet::from(["x/y".to_owned(), "x/z".to_owned()]);
    assert_eq!(layers(text), BTreeMap::from([("a".to_owned(), places)]));
}
