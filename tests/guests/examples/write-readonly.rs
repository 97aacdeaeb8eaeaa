//! Changes a directory that it may only read, in every way there is.

use guests::wasip2::clocks::wall_clock::Datetime;
use guests::wasip2::filesystem::types::{DescriptorFlags, NewTimestamp, OpenFlags, PathFlags};
use guests::{Attempts, raw};

guests::manifest!(r#"{"name":"write-readonly","version":"0.1.0","description":"","requests":{"filesystem":"write"}}"#);

guests::guest! {
    fn run(args) {
        use std::fs::{self, File, OpenOptions};
        let mut attempts = Attempts::default();
        attempts.note("write", fs::write("/work/inside.txt", "changed"));
        attempts.note("truncate", File::create("/work/inside.txt").map(drop));
        attempts.note("append", OpenOptions::new().append(true).open("/work/inside.txt").map(drop));
        attempts.note("create", File::create_new("/work/new.txt").map(drop));
        attempts.note("create-dir", fs::create_dir("/work/new"));
        attempts.note("rename", fs::rename("/work/inside.txt", "/work/renamed.txt"));
        attempts.note("remove", fs::remove_file("/work/inside.txt"));
        attempts.note("remove-dir", fs::remove_dir("/work/sub"));
        attempts.note("hard-link", fs::hard_link("/work/inside.txt", "/work/hard.txt"));
        let Some(work) = raw::granted() else { return Err(guests::failed("no directory is granted")) };
        attempts.note("symlink", work.symlink_at("inside.txt", "soft.txt"));
        let epoch = || NewTimestamp::Timestamp(Datetime { seconds: 1, nanoseconds: 0 });
        attempts.note("set-times", work.set_times_at(PathFlags::empty(), "inside.txt", epoch(), epoch()));
        // Opening for reading and truncating at once was a hole in wasmtime once.
        let truncate = work.open_at(PathFlags::empty(), "inside.txt", OpenFlags::TRUNCATE, DescriptorFlags::READ);
        attempts.note("truncate for reading", truncate.map(drop));
        if let Ok(file) = work.open_at(PathFlags::empty(), "inside.txt", OpenFlags::empty(), DescriptorFlags::READ) {
            attempts.note("write to a file open for reading", file.write(b"changed", 0));
            attempts.note("set-size", file.set_size(0));
            attempts.note("set-times of a file open for reading", file.set_times(epoch(), epoch()));
        }
        attempts.outcome()
    }
}
