//! Security checks, each with the change that removes it and the test that must then fail. The lists also show where
//! something is checked.

mod clients;
mod guests;
mod network;
mod records;
mod supply;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::mutant::{Mutant, mutants};
use super::programs::{Place, Programs, Ran};
use super::weaken::{self, NOTHING, SWITCH, Weakened};
use crate::command::step;
use crate::repo::Repo;

/// All checks, from a client's request to the disk.
const LISTS: [&[Mutant]; 6] =
    [clients::CHECKS, guests::CHECKS, words::CHECKS, network::CHECKS, supply::CHECKS, records::CHECKS];

const ROWS: &str = "rows ";
const UNIT: &str = "unit ";

fn all() -> Vec<&'static Mutant> {
    LISTS.into_iter().flatten().collect()
}

/// The test that must fail, and where it is.
fn test_of(noticed: &str) -> (Place, &str) {
    match noticed.strip_prefix(UNIT) {
        Some(test) => (Place::Unit, test),
        None if noticed.starts_with(ROWS) => (Place::Suite, "hostile::table"),
        None => (Place::Suite, noticed),
    }
}

/// Builds the weakened host and verifies that a test fails without each check: all checks, or only those named.
pub(super) fn run(repo: &Repo, names: &[String]) -> Result<()> {
    let mutants = all();
    if let Some(name) = names.iter().find(|name| !mutants.iter().any(|mutant| mutant.name == **name)) {
        let known: Vec<_> = mutants.iter().map(|mutant| mutant.name).collect();
        bail!("no check is called {name}; there are {}", known.join(", "));
    }
    let chosen: Vec<_> =
        mutants.iter().filter(|it| names.is_empty() || names.iter().any(|name| name == it.name)).collect();
    // With the switches of all checks whatever was chosen, so that the host is built once.
    let Weakened { host, unit } =
        step("building a host whose checks can be left out", || weaken::build(repo, &mutants))?;
    // The host's own tests come from the copy.
    let places = chosen.iter().map(|mutant| test_of(mutant.noticed).0).filter(|place| *place != Place::Unit);
    let programs = Programs::build(repo, &places.collect::<Vec<_>>())?.with_unit(unit);
    let attempt = |switch: &str, noticed: &str| -> Result<Ran> {
        let (place, test) = test_of(noticed);
        // Unit tests compile nothing that is kept, and the cache has tens of thousands of files.
        let cache = (place != Place::Unit).then(|| weaken::cache(repo, switch)).transpose()?;
        let ran = programs.run(repo, place, test, |command| {
            command.env("PORTCULLIS_BIN", &host).env(SWITCH, switch);
            if let Some(cache) = &cache {
                command.env("PORTCULLIS_SUITE_CACHE", cache);
            }
            if let Some(rows) = noticed.strip_prefix(ROWS) {
                command.env("PORTCULLIS_ROWS", rows);
            }
        })?;
        cache.map(|cache| weaken::drop_cache(&cache)).transpose()?;
        ran.with_context(|| format!("there is no test {test}"))
    };
    // All rows are tried at once with every check in place: most of their cost is the shared set-up.
    let rows: BTreeSet<_> = chosen.iter().filter_map(|mutant| mutant.noticed.strip_prefix(ROWS)).collect();
    let all_rows = format!("{ROWS}{}", rows.into_iter().collect::<Vec<_>>().join(","));
    let (mut sound, mut survived) = (BTreeMap::<&str, bool>::new(), vec![]);
    println!("\n{:<24} {:<48} {:<80} {:>7}  noticed", "check left out", "in", "test", "seconds");
    for Mutant { name, file, noticed, .. } in &chosen {
        // A test that fails with every check in place proves nothing.
        let whole = if noticed.starts_with(ROWS) { &all_rows } else { *noticed };
        if !sound.contains_key(whole) {
            let ran = attempt(NOTHING, whole)?;
            if fails(whole, &ran) {
                eprintln!("{whole} fails with nothing left out:\n{}", ran.output);
            }
            sound.insert(whole, !fails(whole, &ran));
        }
        let (verdict, took) = match sound[whole] {
            false => ("NO: its test fails anyway".to_owned(), Duration::ZERO),
            true => {
                let ran = attempt(name, noticed)?;
                let complaint = fails(noticed, &ran).then(|| complaint(&ran.output));
                let verdict = match complaint {
                    None => "NO".to_owned(),
                    Some(said) if is_time_out(said) => format!("NO: only by waiting in vain: {}", short(said)),
                    Some(said) => format!("yes: {}", short(said)),
                };
                (verdict, ran.took)
            }
        };
        println!("{name:<24} {file:<48} {noticed:<80} {:>7.1}  {verdict}", took.as_secs_f32());
        if !verdict.starts_with("yes") {
            survived.push(*name);
        }
    }
    println!("{} of {} removals noticed", chosen.len() - survived.len(), chosen.len());
    if survived.is_empty() { Ok(()) } else { bail!("nobody notices that these are left out: {}", survived.join(", ")) }
}

/// Whether a test fails. For rows, whether one had a wrong result, since the table also fails on a busy machine.
fn fails(noticed: &str, ran: &Ran) -> bool {
    match noticed.starts_with(ROWS) {
        true => ran.output.lines().any(|line| line.ends_with("  WRONG")),
        false => !ran.passed,
    }
}

/// What a failed test says: its wrong row, or its first panic's message.
fn complaint(output: &str) -> &str {
    let wrong = output.lines().find(|line| line.ends_with("  WRONG"));
    let panicked = || output.lines().skip_while(|line| !line.contains(" panicked at ")).nth(1);
    wrong.or_else(panicked).unwrap_or("it ended without a word")
}

/// Whether that says only that something took too long, as it also may for reasons that have nothing to do with the
/// check: the suite's own time-outs, and those of reading from a connection.
fn is_time_out(said: &str) -> bool {
    said.starts_with("timed out: ") || said.contains("kind: WouldBlock")
}

fn short(said: &str) -> String {
    said.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use std::fs;
    use std::path::Path;

    use super::*;

    /// The text of all Rust files below a folder.
    fn sources(folder: &Path) -> String {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let texts = entries.map(|path| match path.extension().is_some_and(|it| it == "rs") {
            true => fs::read_to_string(&path).unwrap(),
            false if path.is_dir() => sources(&path),
            false => String::new(),
        });
        texts.collect()
    }

    #[test]
    fn waiting_in_vain_is_not_noticing() {
        let said = |message: &str| format!("running 1 test\nthread 'x' (7) panicked at a.rs:1:2:\n{message}\nmore\n");
        assert!(!is_time_out(complaint(&said("the host held 90 MiB"))));
        assert!(!is_time_out(complaint(&(said("timed out: x") + "M1.1  a row  other  3 ms  WRONG\n"))));
        for late in ["timed out: no answer to request 1", "reading a response: Os { code: 11, kind: WouldBlock }"] {
            assert!(is_time_out(complaint(&said(late))), "{late}");
        }
    }

    #[test]
    fn every_check_is_where_the_list_says_exactly_once() {
        let repo = Repo::locate().unwrap();
        let mut wrong = vec![];
        for mutant in all() {
            let path = repo.root.join("host").join(mutant.file);
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", mutant.file));
            if let Err(error) = weaken::changed(&repo.root, &[mutant], &path, text.clone()) {
                wrong.push(error.to_string());
            }
            assert!(mutant.to.contains("OFF") && !text.contains("OFF"), "{} is always there", mutant.name);
        }
        // All changes together as well: one change must not remove the text that another one replaces.
        for file in all().into_iter().map(|mutant| mutant.file).collect::<BTreeSet<_>>() {
            let path = repo.root.join("host").join(file);
            if let Err(error) = weaken::changed(&repo.root, &all(), &path, fs::read_to_string(&path).unwrap()) {
                wrong.push(error.to_string());
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn every_check_has_a_name_of_its_own_and_a_test_that_is_there() {
        let repo = Repo::locate().unwrap();
        let (suite, host) = (sources(&repo.root.join("tests/suite/tests")), sources(&repo.root.join("host")));
        let mut names = BTreeSet::new();
        for Mutant { name, noticed, .. } in all() {
            assert!(names.insert(name), "{name} stands there twice");
            let (place, test) = test_of(noticed);
            let text = if place == Place::Suite { &suite } else { &host };
            let function = test.rsplit("::").next().unwrap();
            assert!(text.contains(&format!("fn {function}(")), "{name}: there is no test {test}");
            for row in noticed.strip_prefix(ROWS).into_iter().flat_map(|rows| rows.split(',')) {
                assert!(suite.contains(&format!("id: \"{row}")), "{name}: there is no row {row}");
            }
        }
        assert!(names.len() >= 62, "{} checks", names.len());
    }
}
