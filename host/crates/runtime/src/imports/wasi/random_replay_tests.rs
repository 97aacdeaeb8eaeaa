//! Random calls that look at files and change them, are stopped at random records and then continued: each has the same result
//! in the end, or its host reports that it does not know what has become of a step.

use super::super::http::NoEgress;
use super::super::replay_fixture::{ReplayHost, ReplayRun};
use super::replay_tests::{Results, again};
use super::{changes, filesystem, metadata, open_at, read_directory, removals};
use crate::journal::{CallJournal, JournalProblem};
use fastrand::Rng;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use wasmtime::component::Resource;
use wasmtime::{AsContextMut as _, Engine, Store};
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, DescriptorType, OpenFlags, PathFlags};
use wasmtime_wasi::p2::bindings::io::streams::HostOutputStream as _;

const STEPS: usize = 30;
/// There are few, so that steps use the same ones.
const PATHS: [&str; 6] = ["a", "b", "c", "c/a", "c/b", "a/c"];
/// Processes that end in the middle of one call, at most.
const ENDS: u64 = 3;

/// Does what the numbers select, so that each run of the call does the same.
async fn random(store: &mut Store<ReplayHost>, mut rng: Rng) -> wasmtime::Result<Results> {
    let mut told = Results::default();
    let none = PathFlags::empty();
    let (directories,) = filesystem::directories(store.as_context_mut(), ())?;
    let top = &directories[0].0;
    let mut files = Vec::new();
    macro_rules! make {
        ($function:path, $($argument:expr),+) => { Box::into_pin($function(store.as_context_mut(), ($($argument,)+))).await? };
    }
    for _ in 0..STEPS {
        let (path, other) = (PATHS[rng.usize(..PATHS.len())], PATHS[rng.usize(..PATHS.len())]);
        let (at, bytes) = (rng.u64(..40), vec![rng.u8(b'a'..=b'z'); rng.usize(1..20)]);
        let file = (!files.is_empty()).then(|| rng.usize(..files.len())).and_then(|file| files.get(file)).map(again);
        match (rng.u8(..15), file) {
            (0, _) => told.see(make!(changes::create_directory_at, again(top), path.into())),
            (1, _) => told.see(make!(changes::symlink_at, again(top), other.into(), path.into())),
            (2, _) => told.see(make!(changes::link_at, again(top), none, path.into(), again(top), other.into())),
            (3, _) => told.see(make!(changes::rename_at, again(top), path.into(), again(top), other.into())),
            (4, _) => told.see(make!(removals::unlink_file_at, again(top), path.into())),
            (5, _) => told.see(make!(removals::remove_directory_at, again(top), path.into())),
            (6, _) => told.see(make!(metadata::readlink_at, again(top), path.into())),
            (7, _) => {
                let read = DescriptorFlags::READ;
                let opened = make!(open_at::open_at, again(top), none, path.into(), OpenFlags::DIRECTORY, read);
                if let Some(opened) = told.add(opened)
                    && let Some(list) = told.add(make!(read_directory::open, again(&opened)))
                {
                    let mut names = Vec::new();
                    while let Some(entry) = make!(read_directory::next, Resource::new_borrow(list.rep())).0.unwrap() {
                        names.push(entry.name);
                    }
                    names.sort();
                    told.0.push(names.join(" "));
                }
            }
            (8, _) => {
                // The time of the last change differs between runs.
                let (found,) = make!(metadata::stat_at, again(top), none, path.into());
                told.see((found.map(|stat| match stat.type_ {
                    DescriptorType::Directory => "a directory".to_owned(),
                    kind => format!("{kind:?} of {} bytes", stat.size),
                }),));
            }
            (9, Some(file)) => told.see(make!(changes::write, file, bytes, at)),
            (10, Some(file)) => told.see(make!(changes::set_size, file, at)),
            (11, Some(file)) => told.see(make!(metadata::read, file, 100, at / 4)),
            (12, Some(file)) => {
                let at = rng.bool().then_some(at);
                if let (Ok(stream),) = changes::stream(store.as_context_mut(), &file, at)? {
                    let stream = Resource::new_borrow(stream.rep());
                    let written = store.data_mut().table.blocking_write_and_flush(stream, bytes).await;
                    told.0.push(format!("{:?}", written.is_ok()));
                }
            }
            (_, _) => {
                let flags = [OpenFlags::CREATE, OpenFlags::EXCLUSIVE, OpenFlags::TRUNCATE].into_iter();
                let flags = flags.filter(|_| rng.bool()).fold(OpenFlags::empty(), |all, flag| all | flag);
                let access = DescriptorFlags::READ | DescriptorFlags::WRITE;
                let opened = make!(open_at::open_at, again(top), none, path.into(), flags, access);
                files.extend(told.add(opened));
            }
        }
    }
    Ok(told)
}

/// All files, directories and links below a folder.
fn content(folder: &Path, below: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}/{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().unwrap();
        if kind.is_symlink() {
            let target = std::fs::read_link(entry.path()).unwrap();
            found.insert(name, format!("-> {}", target.display()).into_bytes());
        } else if kind.is_dir() {
            content(&entry.path(), &name, found);
            found.insert(name, Vec::new());
        } else {
            found.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
}

fn all(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    content(folder, "", &mut found);
    found
}

#[tokio::test]
async fn a_random_call_that_is_stopped_comes_to_the_same() {
    check(100).await;
}

#[tokio::test]
#[ignore = "takes minutes; `cargo xtask crash --programs` runs it"]
async fn ten_thousand_calls_that_are_stopped_come_to_the_same() {
    check(10_000).await;
}

async fn check(calls: u64) {
    let (mut same, mut given_up) = (0, BTreeMap::<String, u32>::new());
    for seed in 0..calls {
        let (call, mut rng) = (Rng::with_seed(seed), Rng::with_seed(!seed));
        let plain = tempfile::tempdir().unwrap();
        let mut store =
            Store::new(&Engine::default(), ReplayHost::new(plain.path(), Arc::new(NoEgress), CallJournal::default()));
        let told = random(&mut store, call.clone()).await.unwrap();
        let run = ReplayRun::new(0, rng.bool());
        match run.to_end(&mut rng, ENDS, async |store| random(store, call.clone()).await).await {
            Ok(second) => {
                assert_eq!(second, told, "call {seed}");
                assert_eq!(all(run.folder.path()), all(plain.path()), "call {seed}");
                same += 1;
            }
            Err(JournalProblem::Unknown { import, .. } | JournalProblem::Lost { import, .. }) => {
                *given_up.entry(import).or_default() += 1;
            }
            Err(problem) => panic!("call {seed}: {problem:?}"),
        }
    }
    assert!(same * 3 > calls * 2, "{same} of {calls} came to the same; given up at {given_up:?}");
}
