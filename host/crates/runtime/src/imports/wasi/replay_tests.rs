//! A call that changes files, is stopped at each of its records and then continued: it has the same result, and nothing is done
//! twice.

use super::super::http::NoEgress;
use super::super::replay_fixture::{ReplayHost, ReplayRun};
use super::open_files::Reservation;
use super::{OpenFiles, changes, filesystem, metadata, open_at, read_directory, removals};
use crate::journal::{CallJournal, JournalProblem};
use std::fmt::Debug;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use wasmtime::component::Resource;
use wasmtime::{AsContextMut as _, Engine, Store};
use wasmtime_wasi::p2::bindings::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags};
use wasmtime_wasi::p2::bindings::io::streams::{HostInputStream as _, HostOutputStream as _};

/// The results that the call got, in order.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Results(pub(super) Vec<String>);

impl Results {
    pub(super) fn add<R: Debug>(&mut self, result: (Result<R, ErrorCode>,)) -> Option<R> {
        self.0.push(format!("{:?}", result.0.as_ref().map(|_| ()).map_err(|code| *code)));
        result.0.ok()
    }

    pub(super) fn see<R: Debug>(&mut self, result: (Result<R, ErrorCode>,)) {
        self.0.push(format!("{:?}", result.0));
    }
}

pub(super) fn again(of: &Resource<Descriptor>) -> Resource<Descriptor> {
    Resource::new_borrow(of.rep())
}

/// Uses each function that changes something, and some that look.
async fn each_change(store: &mut Store<ReplayHost>) -> wasmtime::Result<Results> {
    let mut told = Results::default();
    let read_write = DescriptorFlags::READ | DescriptorFlags::WRITE;
    let (none, made) = (PathFlags::empty(), OpenFlags::CREATE | OpenFlags::EXCLUSIVE);
    let (directories,) = filesystem::directories(store.as_context_mut(), ())?;
    let top = &directories[0].0;
    macro_rules! make {
        ($function:path, $($argument:expr),+) => { Box::into_pin($function(store.as_context_mut(), ($($argument,)+))).await? };
    }
    told.see(make!(changes::create_directory_at, again(top), "a".into()));
    told.see(make!(changes::create_directory_at, again(top), "a".into()));
    let file = told.add(make!(open_at::open_at, again(top), none, "a/f".into(), made, read_write)).unwrap();
    told.see(make!(changes::write, again(&file), b"hello".to_vec(), 0));
    let (stream,) = changes::stream(store.as_context_mut(), &again(&file), Some(5))?;
    let stream = stream.unwrap();
    for piece in ["1234", "5678"] {
        store.data_mut().table.blocking_write_and_flush(Resource::new_borrow(stream.rep()), piece.into()).await?;
    }
    let (log,) = changes::stream(store.as_context_mut(), &again(&file), None)?;
    let log = log.unwrap();
    for piece in ["x", "y"] {
        store.data_mut().table.blocking_write_and_flush(Resource::new_borrow(log.rep()), piece.into()).await?;
    }
    told.see(make!(metadata::read, again(&file), 100, 0));
    told.see(make!(changes::set_size, again(&file), 11));
    let (input,) = metadata::read_via_stream(store.as_context_mut(), (again(&file), 3))?;
    let input = input.unwrap();
    for length in [4, 2, 9] {
        let input = Resource::new_borrow(input.rep());
        told.0.push(format!("{:?}", store.data_mut().table.blocking_read(input, length).await.ok()));
    }
    told.see(make!(changes::symlink_at, again(top), "a/f".into(), "link".into()));
    told.see(make!(changes::link_at, again(top), none, "a/f".into(), again(top), "other".into()));
    told.see(make!(changes::rename_at, again(top), "other".into(), again(top), "third".into()));
    let (directory, read) = (OpenFlags::DIRECTORY, DescriptorFlags::READ);
    let opened = told.add(make!(open_at::open_at, again(top), none, ".".into(), directory, read)).unwrap();
    let list = told.add(make!(read_directory::open, again(&opened))).unwrap();
    let mut names = Vec::new();
    while let Some(entry) = make!(read_directory::next, Resource::new_borrow(list.rep())).0.unwrap() {
        names.push(entry.name);
    }
    names.sort();
    told.0.push(names.join(" "));
    told.see(make!(metadata::readlink_at, again(top), "link".into()));
    told.see(make!(removals::unlink_file_at, again(top), "link".into()));
    told.see(make!(removals::unlink_file_at, again(top), "link".into()));
    // From here on the open file has another name, and later none.
    told.see(make!(changes::rename_at, again(top), "a/f".into(), again(top), "moved".into()));
    told.see(make!(removals::remove_directory_at, again(top), "a".into()));
    told.see(make!(metadata::read, again(&file), 100, 0));
    Ok(told)
}

fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = entries
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(&path).unwrap_or_default())
        })
        .collect();
    found.sort();
    found
}

#[tokio::test]
async fn a_call_that_is_stopped_anywhere_comes_to_the_same() {
    let plain = tempfile::tempdir().unwrap();
    let mut store =
        Store::new(&Engine::default(), ReplayHost::new(plain.path(), Arc::new(NoEgress), CallJournal::default()));
    let told = each_change(&mut store).await.unwrap();
    let grew = store.data().grown();
    let end = content(plain.path());
    assert_eq!(end, [("moved".into(), b"hello123456"[..11].to_vec()), ("third".into(), b"hello123456".to_vec())]);

    let (mut records, mut unknown, mut lost) = (0, Vec::new(), Vec::new());
    loop {
        let mut ended = 0;
        for answers_last in [false, true] {
            let run = ReplayRun::new(records, answers_last);
            ended += u32::from(run.process(1, each_change).await.is_ok());
            run.store.left.store(u64::MAX, Ordering::Relaxed);
            match run.process(2, each_change).await {
                Ok((second, _)) => {
                    assert_eq!(
                        (second, content(run.folder.path())),
                        (Results(told.0.clone()), end.clone()),
                        "{records}"
                    );
                    // All of it from the journal, although the file that was open has lost its name.
                    let third = run.process(3, each_change).await.unwrap();
                    assert_eq!(third.0, told, "{records}");
                    assert_eq!(content(run.folder.path()), end);
                }
                Err(Some(JournalProblem::Unknown { import, .. })) => unknown.push(import),
                // The file that is open has got another name, and nobody has read it for the last time.
                Err(Some(JournalProblem::Lost { import, .. })) => lost.push(import),
                Err(problem) => panic!("after {records} records: {problem:?}"),
            }
        }
        if ended == 2 {
            break;
        }
        records += 1;
    }
    unknown.sort();
    assert!(records > 40, "{records}");
    assert!(!lost.is_empty() && lost.iter().all(|import| import == "filesystem.read"), "{lost:?}");
    // The new file that was made, and each end of the file that was added to, whether or not that was done.
    assert_eq!(unknown, ["filesystem.open-at", "streams.write", "streams.write", "streams.write", "streams.write"]);

    let run = ReplayRun::new(u64::MAX, true);
    for process in 1..3 {
        assert_eq!(
            run.process(process, each_change).await.unwrap(),
            (Results(told.0.clone()), grew),
            "process {process}"
        );
    }
}

#[tokio::test]
async fn a_file_that_was_open_is_waited_for_while_others_have_as_many_as_there_may_be() {
    let run = ReplayRun::new(u64::MAX, true);
    let told = run.process(1, each_change).await.unwrap();
    let run = ReplayRun { open_files: OpenFiles::new(12), ..run };
    let mut others = Reservation::new(run.open_files.clone(), "local".into());
    let mut open = 0;
    while others.covers_another(open, u32::MAX) {
        open += 1;
    }
    let mut again = pin!(run.process(2, each_change));
    assert!(tokio::time::timeout(Duration::from_millis(50), &mut again).await.is_err());
    drop(others);
    assert_eq!(again.await.unwrap(), told);
}
