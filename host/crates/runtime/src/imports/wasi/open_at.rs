//! `open-at`. A replayed call opens its files for real, without making or emptying them again.

use super::blocking::FilesystemFuture;
use super::disk_quota::ENTRY_SIZE;
use super::file_identity::FileIdentity;
use super::file_step::{ChangeStart, FileChange};
use super::files::{GONE, OVER_LIMIT, REPLACED, RefusedPath, WasiHost};
use super::metadata::follows;
use super::open_files::count;
use super::outcome::{finish, to_guest};
use super::path_refusal;
use super::recorded::Flags;
use crate::journal::Repeat;
use policy::Access;
use wasmtime::StoreContextMut;
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Dir, File, WasiFilesystemView};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorType, ErrorCode, HostDescriptor, OpenFlags, PathFlags,
};

type OpenAt = (Resource<Descriptor>, PathFlags, String, OpenFlags, DescriptorFlags);
type Opened = Result<Resource<Descriptor>, ErrorCode>;

/// What the guest wants to open, and how.
struct Request {
    /// The descriptor of the directory.
    parent: u32,
    path_flags: PathFlags,
    path: String,
    open_flags: OpenFlags,
    flags: DescriptorFlags,
}

pub(super) fn open_at<'a, T: WasiHost>(
    mut store: StoreContextMut<'a, T>,
    (directory, path_flags, path, open_flags, flags): OpenAt,
) -> FilesystemFuture<'a, Resource<Descriptor>> {
    Box::new(async move {
        let data = store.data_mut();
        let request = Request { parent: directory.rep(), path_flags, path, open_flags, flags };
        let access = if request.writes() { Access::Write } else { Access::Read };
        if let Some(refused) = path_refusal::refuse(data, request.parent, &request.path, access) {
            return Ok((Err(refused),));
        }
        if request.writes() {
            let (files, _) = data.files()?;
            files.note_change(request.parent);
            if let Err(denied) = files.may_change() {
                let denied = Err(denied);
                finish(data.start_span("filesystem.open-at")?, &denied);
                return Ok((denied,));
            }
        }
        let made = [OpenFlags::CREATE, OpenFlags::EXCLUSIVE, OpenFlags::TRUNCATE, OpenFlags::DIRECTORY];
        let made = made.map(|flag| open_flags.contains(flag));
        let arguments = (&request.path, follows(path_flags), made, Flags::from(flags));
        let step = data.begin_file_step("filesystem.open-at", request.parent, &arguments)?;
        let again = if step.has_only_begun() { request.again(data).await } else { Repeat::Safe };
        let span = data.start_span("filesystem.open-at")?;
        let opened = match FileChange::begin_step(data, step, Some(span), request.parent, again).await? {
            ChangeStart::Now(mut change) => {
                let (opened, entry) = request.open(data).await?;
                change.grew = entry;
                let identity = match &opened {
                    Ok(descriptor) if change.is_journaled() => identity(data, descriptor)?.await.map(Some),
                    Ok(_) => Ok(None),
                    Err(code) => Err(*code),
                };
                change.end(identity.map_err(Into::into)).await?.0.and(opened)
            }
            ChangeStart::Done(Ok(identity)) => Ok(request.open_again(data, identity).await?),
            ChangeStart::Done(Err(code)) => Err(code),
        };
        if let Err(ErrorCode::NotPermitted | ErrorCode::ReadOnly) = &opened {
            data.record_refused_path(RefusedPath { path: request.path, access });
        }
        Ok((opened,))
    })
}

impl Request {
    fn writes(&self) -> bool {
        self.flags.intersects(DescriptorFlags::WRITE | DescriptorFlags::MUTATE_DIRECTORY)
            || self.open_flags.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE)
    }

    fn directory(&self) -> Resource<Descriptor> {
        Resource::new_borrow(self.parent)
    }

    /// Whether opening may be repeated. If the file must be new and is there, it may not, because nobody knows who made the
    /// file.
    async fn again<T: WasiHost>(&self, data: &mut T) -> Repeat {
        if !self.open_flags.contains(OpenFlags::EXCLUSIVE) {
            return Repeat::Safe;
        }
        let found = data.filesystem().stat_at(self.directory(), self.path_flags, self.path.clone()).await;
        if found.is_ok() { Repeat::Unsafe } else { Repeat::Safe }
    }

    /// Opens it, and returns what was counted for a new directory entry.
    async fn open<T: WasiHost>(&self, data: &mut T) -> wasmtime::Result<(Opened, u64)> {
        if !data.may_open_file()? {
            return Ok((Err(ErrorCode::Quota), 0));
        }
        // From here on the call may hold a file that another call removes.
        let quota = data.files()?.0.quota_of(self.parent);
        let mut entry = 0;
        match data.filesystem().stat_at(self.directory(), self.path_flags, self.path.clone()).await {
            Ok(found) if waits_when_opened(found.type_) => return Ok((Err(ErrorCode::Unsupported), 0)),
            Ok(_) => {}
            Err(_) if self.open_flags.contains(OpenFlags::CREATE) => {
                if let Err(full) = quota.add_entry() {
                    return Ok((Err(full.into()), 0));
                }
                entry = ENTRY_SIZE;
            }
            Err(_) => {}
        }
        let Self { path_flags, open_flags, flags, .. } = *self;
        let opened =
            data.filesystem().open_at(self.directory(), path_flags, self.path.clone(), open_flags, flags).await;
        let opened = to_guest(opened)?;
        if let Ok(descriptor) = &opened {
            let (files, _) = data.files()?;
            let in_own = files.is_in_own(self.parent);
            files.track(descriptor.rep(), in_own);
        }
        Ok((opened, entry))
    }

    /// Opens what an earlier run had open. If that is no longer there, or something else has its name, the descriptor can be
    /// used only for what the journal has.
    async fn open_again<T: WasiHost>(
        &self,
        data: &mut T,
        earlier: Option<FileIdentity>,
    ) -> wasmtime::Result<Resource<Descriptor>> {
        let made = OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE;
        let again = Request { path: self.path.clone(), open_flags: self.open_flags & !made, ..*self };
        let open = count(data.ctx().table);
        let has_room = data.files()?.0.wait_for_another(open).await;
        let lacks = match data.files()?.0.gone(self.parent) {
            Some(lacks) => lacks,
            None if !has_room => OVER_LIMIT,
            None => match again.open(data).await?.0 {
                Ok(opened) => {
                    if earlier.is_some() && identity(data, &opened)?.await.ok() == earlier {
                        return Ok(opened);
                    }
                    data.filesystem().table.delete(opened)?;
                    REPLACED
                }
                Err(_) => GONE,
            },
        };
        let stand_in = match data.filesystem().table.get(&self.directory())? {
            Descriptor::Dir(parent) => {
                let file = parent.dir.try_clone()?;
                match earlier.is_some_and(|earlier| earlier.is_directory) {
                    true => Descriptor::Dir(Dir::new(file, parent.perms, parent.open_mode, false)),
                    false => Descriptor::File(File::new(file, parent.perms, parent.open_mode, false)),
                }
            }
            Descriptor::File(_) => return Err(wasmtime::Error::msg(GONE)),
        };
        let descriptor = data.filesystem().table.push(stand_in)?;
        let (files, _) = data.files()?;
        let in_own = files.is_in_own(self.parent);
        files.track_gone(descriptor.rep(), in_own, lacks);
        Ok(descriptor)
    }
}

fn identity<T: WasiHost>(
    data: &mut T,
    of: &Resource<Descriptor>,
) -> wasmtime::Result<impl Future<Output = Result<FileIdentity, ErrorCode>> + use<T>> {
    Ok(FileIdentity::find(data.filesystem().table.get(of)?))
}

/// Opening a FIFO waits for its other end, and some devices wait too. Nothing could end that wait, which takes a thread.
/// wasmtime-wasi reports a FIFO as `unknown`.
fn waits_when_opened(kind: DescriptorType) -> bool {
    match kind {
        DescriptorType::RegularFile | DescriptorType::Directory | DescriptorType::SymbolicLink => false,
        DescriptorType::Fifo
        | DescriptorType::CharacterDevice
        | DescriptorType::BlockDevice
        | DescriptorType::Socket
        | DescriptorType::Unknown => true,
    }
}
