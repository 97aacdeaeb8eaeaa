//! Which file or directory a descriptor stands for, even if something else has its name by now.

use super::blocking::blocking;
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, StatxFlags, statx};
use serde::{Deserialize, Serialize};
use std::io;
use wasmtime_wasi::p2::bindings::filesystem::types::{Descriptor, ErrorCode};

/// The identity of a file. Inode numbers of removed files are used again, so the time at which the file was made is a part of
/// it, if the file system knows that.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileIdentity {
    pub(super) is_directory: bool,
    device: (u32, u32),
    inode: u64,
    made: Option<(i64, u32)>,
}

impl FileIdentity {
    pub(super) fn find(descriptor: &Descriptor) -> impl Future<Output = Result<Self, ErrorCode>> + use<> {
        let descriptor = descriptor.clone();
        blocking(move || match descriptor {
            Descriptor::File(file) => Self::read(&*file.file, false),
            Descriptor::Dir(directory) => Self::read(&*directory.dir, true),
        })
    }

    fn read(file: impl AsFd, is_directory: bool) -> io::Result<Self> {
        let found = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::INO | StatxFlags::BTIME)?;
        let knows_time = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
        let made = knows_time.then_some((found.stx_btime.tv_sec, found.stx_btime.tv_nsec));
        let device = (found.stx_dev_major, found.stx_dev_minor);
        Ok(Self { is_directory, device, inode: found.stx_ino, made })
    }
}
