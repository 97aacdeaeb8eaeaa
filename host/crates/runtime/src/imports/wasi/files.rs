//! `wasi:filesystem` with what the standard's own implementation lacks: refused paths are heard of, and files grow only as
//! much as they may. Whatever creates or lengthens something is here; all else is left as it is.

use super::growing::Growing;
use crate::imports::doing::Doing;
use crate::imports::room::{Room, Share};
use crate::imports::{Permit, wasi::RefusedPath};
use policy::Access;
use std::collections::HashSet;
use std::future::Future;
use std::io;
use std::sync::Arc;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::WasiView;
use wasmtime_wasi::filesystem::WasiFilesystemView;
use wasmtime_wasi::p2::bindings::filesystem::preopens::Host as _;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Descriptor, DescriptorFlags, ErrorCode, HostDescriptor, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynOutputStream, FsError, FsResult};

/// One call's files.
pub struct Files {
    /// Of the plugin's own directory.
    own: Option<Arc<Share>>,
    /// Of all others.
    granted: Arc<Share>,
    /// Descriptors in the plugin's own directory. A number that is used again is looked at again.
    in_own: HashSet<u32>,
}

impl Files {
    /// Of a call that may make granted directories grow by so many bytes.
    pub fn new(growth: u64, permit: &Permit) -> Self {
        Self { own: None, granted: Share::of_granted(growth, permit.clone()), in_own: HashSet::new() }
    }

    /// With a directory of the plugin's own.
    pub(in crate::imports) fn share(&mut self, room: Option<&Arc<Room>>, permit: &Permit) {
        self.own = room.map(|room| Share::of_scratch(room.clone(), permit.clone()));
    }

    /// By how much the call has made files grow.
    pub fn growth(&self) -> u64 {
        self.granted.taken() + self.own.as_ref().map_or(0, |own| own.taken())
    }

    fn place(&mut self, descriptor: u32, in_own: bool) {
        if in_own {
            self.in_own.insert(descriptor);
        } else {
            self.in_own.remove(&descriptor);
        }
    }

    fn of(&self, descriptor: u32) -> Arc<Share> {
        let own = self.own.as_ref().filter(|_| self.in_own.contains(&descriptor));
        own.unwrap_or(&self.granted).clone()
    }
}

/// Data of a Store whose files are watched.
pub trait Watched: WasiView + 'static {
    /// Called with each refused path.
    fn refused(&mut self, path: RefusedPath);
    /// The running call's files, and where the plugin's own directory is inside the guest; an error before it has begun.
    fn files(&mut self) -> wasmtime::Result<(&mut Files, Option<String>)>;
    /// Begins something that the guest asked for.
    fn doing(&mut self, name: &'static str) -> wasmtime::Result<Doing>;
}

type Store<'a, T> = StoreContextMut<'a, T>;
type Later<'a, R> = Box<dyn Future<Output = wasmtime::Result<(Result<R, ErrorCode>,)>> + Send + 'a>;

/// Puts our own functions in the place of the standard's.
pub(super) fn add_to_linker<T: Watched>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    linker.instance("wasi:filesystem/preopens@0.2.12")?.func_wrap("get-directories", directories)?;
    let mut types = linker.instance("wasi:filesystem/types@0.2.12")?;
    types.func_wrap_async("[method]descriptor.open-at", open_at)?;
    types.func_wrap_async("[method]descriptor.create-directory-at", create_directory_at)?;
    types.func_wrap_async("[method]descriptor.symlink-at", symlink_at)?;
    types.func_wrap_async("[method]descriptor.link-at", link_at)?;
    types.func_wrap_async("[method]descriptor.set-size", set_size)?;
    types.func_wrap_async("[method]descriptor.write", write)?;
    types.func_wrap("[method]descriptor.write-via-stream", |store: Store<'_, T>, (file, at): (Resource<_>, u64)| {
        stream(store, &file, Some(at))
    })?;
    types.func_wrap("[method]descriptor.append-via-stream", |store: Store<'_, T>, (file,): (Resource<_>,)| {
        stream(store, &file, None)
    })?;
    linker.allow_shadowing(false);
    Ok(())
}

type Directories = (Vec<(Resource<Descriptor>, String)>,);

fn directories<T: Watched>(mut store: Store<'_, T>, (): ()) -> wasmtime::Result<Directories> {
    let found = store.data_mut().filesystem().get_directories()?;
    // Without directories there is nothing to watch, and there may be no call yet.
    if !found.is_empty() {
        let (files, own) = store.data_mut().files()?;
        for (descriptor, path) in &found {
            files.place(descriptor.rep(), own.as_ref() == Some(path));
        }
    }
    Ok((found,))
}

type OpenAt = (Resource<Descriptor>, PathFlags, String, OpenFlags, DescriptorFlags);

fn open_at<'a, T: Watched>(
    mut store: Store<'a, T>,
    (directory, path_flags, path, open_flags, flags): OpenAt,
) -> Later<'a, Resource<Descriptor>> {
    Box::new(async move {
        let data = store.data_mut();
        let doing = data.doing("filesystem.open-at")?;
        let writes = flags.intersects(DescriptorFlags::WRITE | DescriptorFlags::MUTATE_DIRECTORY)
            || open_flags.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE);
        let parent = directory.rep();
        let again = || Resource::<Descriptor>::new_borrow(parent);
        if open_flags.contains(OpenFlags::CREATE) {
            let there = data.filesystem().stat_at(again(), PathFlags::SYMLINK_FOLLOW, path.clone()).await;
            if there.is_err()
                && let Err(full) = data.files()?.0.of(parent).entry()
            {
                return ended(doing, Err(full.into()));
            }
        }
        let opened = data.filesystem().open_at(directory, path_flags, path.clone(), open_flags, flags).await;
        let opened = told(opened)?;
        match &opened {
            Ok(descriptor) => {
                let (files, _) = data.files()?;
                let in_own = files.in_own.contains(&parent);
                files.place(descriptor.rep(), in_own);
            }
            Err(ErrorCode::NotPermitted | ErrorCode::ReadOnly) => {
                let access = if writes { Access::Write } else { Access::Read };
                data.refused(RefusedPath { path, access });
            }
            Err(_) => {}
        }
        finish(doing, &opened);
        Ok((opened,))
    })
}

fn create_directory_at<T: Watched>(
    mut store: Store<'_, T>,
    (directory, path): (Resource<Descriptor>, String),
) -> Later<'_, ()> {
    Box::new(async move {
        let data = store.data_mut();
        let doing = data.doing("filesystem.create-directory-at")?;
        match data.files()?.0.of(directory.rep()).entry() {
            Err(full) => ended(doing, Err(full.into())),
            Ok(()) => ended(doing, data.filesystem().create_directory_at(directory, path).await),
        }
    })
}

fn symlink_at<T: Watched>(
    mut store: Store<'_, T>,
    (directory, target, path): (Resource<Descriptor>, String, String),
) -> Later<'_, ()> {
    Box::new(async move {
        let data = store.data_mut();
        let doing = data.doing("filesystem.symlink-at")?;
        match data.files()?.0.of(directory.rep()).entry() {
            Err(full) => ended(doing, Err(full.into())),
            Ok(()) => ended(doing, data.filesystem().symlink_at(directory, target, path).await),
        }
    })
}

type LinkAt = (Resource<Descriptor>, PathFlags, String, Resource<Descriptor>, String);

fn link_at<T: Watched>(mut store: Store<'_, T>, (from, flags, old, to, new): LinkAt) -> Later<'_, ()> {
    Box::new(async move {
        let data = store.data_mut();
        let doing = data.doing("filesystem.link-at")?;
        match data.files()?.0.of(to.rep()).entry() {
            Err(full) => ended(doing, Err(full.into())),
            Ok(()) => ended(doing, data.filesystem().link_at(from, flags, old, to, new).await),
        }
    })
}

fn set_size<T: Watched>(mut store: Store<'_, T>, (file, size): (Resource<Descriptor>, u64)) -> Later<'_, ()> {
    Box::new(async move {
        let (file, share) = match writable(store.data_mut(), &file)? {
            Ok(found) => found,
            Err(code) => return Ok((Err(code),)),
        };
        Ok((blocking(move || share.resize(&file, size)).await,))
    })
}

fn write<T: Watched>(
    mut store: Store<'_, T>,
    (file, bytes, at): (Resource<Descriptor>, Vec<u8>, u64),
) -> Later<'_, u64> {
    Box::new(async move {
        let (file, share) = match writable(store.data_mut(), &file)? {
            Ok(found) => found,
            Err(code) => return Ok((Err(code),)),
        };
        Ok((blocking(move || share.write(&file, Some(at), &bytes).map(|()| bytes.len() as u64)).await,))
    })
}

type Streamed = (Result<Resource<DynOutputStream>, ErrorCode>,);

fn stream<T: Watched>(
    mut store: Store<'_, T>,
    file: &Resource<Descriptor>,
    at: Option<u64>,
) -> wasmtime::Result<Streamed> {
    let (file, share) = match writable(store.data_mut(), file)? {
        Ok(found) => found,
        Err(code) => return Ok((Err(code),)),
    };
    let stream: DynOutputStream = Box::new(Growing::new(file, &share, at));
    Ok((Ok(store.data_mut().filesystem().table.push(stream)?),))
}

type Writable = Result<(Arc<std::fs::File>, Arc<Share>), ErrorCode>;

/// A file that may be written, and what it may grow by.
fn writable<T: Watched>(data: &mut T, descriptor: &Resource<Descriptor>) -> wasmtime::Result<Writable> {
    let file = match data.filesystem().table.get(descriptor)? {
        Descriptor::Dir(_) => return Ok(Err(ErrorCode::BadDescriptor)),
        Descriptor::File(file) if file.perms.write_not_permitted() => return Ok(Err(ErrorCode::NotPermitted)),
        Descriptor::File(file) => file.file.clone(),
    };
    let (files, _) = data.files()?;
    Ok(Ok((file, files.of(descriptor.rep()))))
}

/// Off the threads that guests run on. What has begun ends, also when nobody waits for it any more.
async fn blocking<R: Send + 'static>(work: impl FnOnce() -> io::Result<R> + Send + 'static) -> Result<R, ErrorCode> {
    let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(ErrorCode::from)
}

/// As the guest hears it; what is no answer for a guest ends its call.
fn told<R>(result: FsResult<R>) -> wasmtime::Result<Result<R, ErrorCode>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) => Ok(Err(error.downcast()?)),
    }
}

fn ended<R>(doing: Doing, result: Result<R, FsError>) -> wasmtime::Result<(Result<R, ErrorCode>,)> {
    let result = told(result)?;
    finish(doing, &result);
    Ok((result,))
}

fn finish<R>(doing: Doing, result: &Result<R, ErrorCode>) {
    doing.ended(match result {
        Ok(_) => "ok",
        Err(ErrorCode::NotPermitted | ErrorCode::ReadOnly | ErrorCode::Access) => "denied",
        Err(ErrorCode::InsufficientSpace) => "full",
        Err(ErrorCode::NoEntry) => "not-found",
        Err(_) => "failed",
    });
}
