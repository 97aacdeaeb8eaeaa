//! The plugins of a run, and the configurations that name them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use toml::{Table, Value, toml};

use crate::contender::Contender;
use crate::language::Language;

/// The plugins in a server's configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Set {
    /// The benchmark's own plugin.
    Bench,
    /// The same plugin with permission to ask its client, in a server where this many calls may wait for answers.
    Asking(usize),
    /// The same plugin, in a server where calls become tasks at once.
    Tasks,
    /// The same plugin with permission to ask its client, in a server where this many tasks may wait for answers.
    AskingTasks(usize),
    /// This many copies of `hello`, each with a different digest.
    Copies(usize),
    /// The planner, which calls a calendar back.
    Planner(Calendar),
    /// Code mode, over five copies of a plugin with a hundred tools.
    CodeMode,
    /// The plugin in this language that was made in the run.
    Language(Language),
}

/// Where the planner's calendar is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Calendar {
    /// On the agent's side of the same server; it is also a plugin, so that clients can call it directly.
    Local,
    /// With the client.
    Client,
    /// Nowhere: the client's model answers in its place.
    Nowhere,
}

/// Writes those of the first `count` copies of a component that are missing. They behave the same and differ in their
/// bytes.
pub(crate) fn copy_apart(component: &Path, folder: &Path, count: usize) -> Result<()> {
    let missing = (0..count).map(|number| (number, folder.join(format!("{}.wasm", copy_name(number)))));
    let mut missing = missing.filter(|(_, path)| !path.exists()).peekable();
    if missing.peek().is_none() {
        return Ok(());
    }
    let bytes = fs::read(component)
        .with_context(|| format!("cannot read {}; `cargo xtask bench` builds it first", component.display()))?;
    for (number, path) in missing {
        let mut copy = bytes.clone();
        copy.extend(custom_section("bench:copy", format!("{number:02}").as_bytes()));
        fs::write(&path, copy).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

pub(crate) fn copy_name(number: usize) -> String {
    format!("copy-{number:02}")
}

/// A custom section as encoded in a component: id 0, size, name with its length, data. Every length here is below 128
/// and therefore one byte of LEB128.
fn custom_section(name: &str, data: &[u8]) -> Vec<u8> {
    let length = |bytes: usize| u8::try_from(bytes).ok().filter(|&length| length < 128).unwrap_or(127);
    let mut section = vec![0, length(1 + name.len() + data.len()), length(name.len())];
    section.extend_from_slice(name.as_bytes());
    section.extend_from_slice(data);
    section
}

/// The description of the calendar's tool, for the side that answers in its place.
pub(crate) const DESCRIBED: &str = r#"[{
    "name": "calendar.free_slots", "description": "Free hours of one day.",
    "inputSchema": { "type": "object", "properties": { "day": { "type": "string" } }, "required": ["day"] },
    "outputSchema": { "type": "object", "properties": { "slots": { "type": "array", "items": { "type": "string" } } } }
}]"#;

/// The folder for plugins that are made in a run, below that for all that is generated.
pub(crate) const PROJECTS: &str = "languages";

/// The text of a configuration for `set`, with limits that no measurement reaches.
pub(crate) fn configuration(contender: Contender, set: Set, built: &Path, generated: &Path) -> String {
    let mut plugins = Table::new();
    let mut file = Table::new();
    match set {
        Set::Bench | Set::Asking(_) | Set::Tasks | Set::AskingTasks(_) | Set::Language(_) => {
            let mut entry = entry(match set {
                Set::Language(language) => language.component(&generated.join(PROJECTS)),
                _ => built.join("bench.wasm"),
            });
            entry.insert("limits".into(), Value::Table(generous_limits(contender)));
            if let Set::Asking(calls) | Set::AskingTasks(calls) = set {
                entry.insert("grants".into(), toml! { client.form = true }.into());
                let calls = i64::try_from(calls).unwrap_or(i64::MAX);
                let bounds =
                    |name: &str, most: i64| [name, "per-principal"].map(|key| (key.to_owned(), Value::Integer(most)));
                let mut parked = Table::from_iter(bounds("calls", calls));
                parked.insert("memory".into(), Value::String("16 GiB".into()));
                let mut server = Table::from_iter([("parked".to_owned(), Value::Table(parked))]);
                if matches!(set, Set::AskingTasks(_)) {
                    // Those of earlier rounds are kept, too.
                    server.insert("tasks".into(), Value::Table(Table::from_iter(bounds("kept", 4 * calls))));
                }
                file.insert("server".into(), server.into());
            }
            if set == Set::Tasks {
                file.insert("server".into(), toml! { tasks = { inline = "1ms" } }.into());
            }
            plugins.insert("bench".into(), Value::Table(entry));
        }
        Set::Planner(calendar) => {
            let with_limits = |name: &str| {
                let mut entry = entry(built.join(format!("{name}.wasm")));
                entry.insert("limits".into(), Value::Table(generous_limits(contender)));
                entry
            };
            let mut planner = with_limits("planner");
            planner.insert("grants".into(), toml! { agent-tools = ["calendar.free_slots"] }.into());
            plugins.insert("planner".into(), planner.into());
            if calendar == Calendar::Nowhere {
                file.insert("stand-in".into(), toml! { tools = "stand-in.json" }.into());
            }
            if calendar == Calendar::Local {
                plugins.insert("calendar".into(), with_limits("calendar").into());
                let mut calendar = with_limits("calendar");
                calendar.remove("prefix");
                file.insert("agent".into(), Table::from_iter([("calendar".to_owned(), Value::from(calendar))]).into());
            }
        }
        Set::CodeMode => {
            let mut code = entry(built.join("code.wasm"));
            code.insert("prefix".into(), Value::Boolean(false));
            code.insert("grants".into(), toml! { agent-tools = ["*.*"] }.into());
            code.insert("limits".into(), Value::Table(generous_limits(contender)));
            plugins.insert("code".into(), code.into());
            for number in 0..5 {
                plugins.insert(format!("box{number}"), entry(built.join("toolbox.wasm")).into());
            }
            file.insert(
                "code".into(),
                toml! { plugin = "code"
                only = true }
                .into(),
            );
        }
        Set::Copies(count) => {
            for number in 0..count {
                let name = copy_name(number);
                let entry = entry(generated.join(format!("{name}.wasm")));
                plugins.insert(name, Value::Table(entry));
            }
        }
    }
    file.insert("plugins".into(), Value::Table(plugins));
    file.to_string()
}

fn entry(source: PathBuf) -> Table {
    Table::from_iter([
        ("source".to_owned(), Value::String(source.to_string_lossy().into_owned())),
        ("prefix".to_owned(), Value::Boolean(true)),
    ])
}

fn generous_limits(contender: Contender) -> Table {
    let mut limits = Table::from_iter([
        ("deadline".to_owned(), Value::String("60s".into())),
        ("output".to_owned(), Value::String("64 MiB".into())),
        ("chunks".to_owned(), Value::Integer(1_000_000)),
        ("questions".to_owned(), Value::Integer(1_000)),
    ]);
    if let Some(metering) = contender.metering() {
        limits.insert("metering".into(), Value::String(metering.into()));
    }
    match contender {
        Contender::Native | Contender::Ordinary | Contender::Floor => {}
        Contender::Fuel => drop(limits.insert("fuel".into(), Value::Integer(100_000_000_000))),
        Contender::Ticks => drop(limits.insert("cpu".into(), Value::String("60s".into()))),
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_missing_copies_are_written() {
        let folder = tempfile::tempdir().map(tempfile::TempDir::keep).unwrap_or_default();
        let original = folder.join("original");
        let names = || fs::read_dir(&folder).map_or(0, Iterator::count);
        assert!(fs::write(&original, "bytes").is_ok() && copy_apart(&original, &folder, 2).is_ok());
        assert_eq!(names(), 3);
        let first = folder.join("copy-00.wasm");
        assert!(fs::write(&first, "kept").is_ok() && copy_apart(&original, &folder, 3).is_ok());
        assert_eq!((names(), fs::read(&first).ok()), (4, Some(b"kept".to_vec())));
        assert!(fs::remove_dir_all(&folder).is_ok());
    }

    #[test]
    fn a_section_counts_its_name_and_data() {
        assert_eq!(custom_section("ab", b"xyz"), [0, 6, 2, b'a', b'b', b'x', b'y', b'z']);
    }
}
