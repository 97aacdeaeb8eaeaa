//! Uses the directory of its own at `/own`. `path` says how: `write NAME` with `n` bytes, `read NAME`, `list`, `far NAME`
//! one byte at `n`, `hole NAME` of `n` bytes, `over NAME` the same bytes `n` times, `files`, `folders` or `links` until
//! there is no room for more, `removed` with files of `n` bytes that are removed while they are open, `deep LEVELS` a file
//! of `n` bytes below so many folders with long names, `remove NAME`, `hold NAME` open until there is a file `go`; or any way
//! out of it: `out PATH`, and `move NAME` or `share NAME` to `/work`.

use guests::raw::granted;
use guests::wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags};
use guests::{Outcome, failed};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

guests::manifest!(
    r#"{"name":"own-folder","version":"0.1.0","description":"","requests":{"scratch":true,"filesystem":"write"}}"#
);

guests::guest! {
    fn run(args) {
        let path = args.path_or("list");
        let (how, name) = path.split_once(' ').unwrap_or((&path, ""));
        let own = |name: &str| format!("/own/{name}");
        let said = match how {
            "write" => std::fs::write(own(name), vec![b'x'; args.n_or(1) as usize]).map(|()| "written".to_owned()),
            "read" => std::fs::read(own(name)).map(|bytes| bytes.len().to_string()),
            "list" => std::fs::read_dir("/own").map(|entries| {
                let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
                let mut names: Vec<_> = names.collect();
                names.sort();
                names.join(",")
            }),
            "far" => OpenOptions::new().create(true).write(true).open(own(name)).and_then(|mut file| {
                file.seek(SeekFrom::Start(args.n_or(0)))?;
                file.write_all(b"x").map(|()| "written".to_owned())
            }),
            "hole" => File::create(own(name)).and_then(|file| file.set_len(args.n_or(0))).map(|()| "made".to_owned()),
            "over" => File::create(own(name)).and_then(|mut file| {
                for _ in 0..args.n_or(1) {
                    file.seek(SeekFrom::Start(0))?;
                    file.write_all(&[b'x'; 10_000])?;
                }
                Ok("written".to_owned())
            }),
            "files" => Ok(until_full(|number| File::create(own(&format!("file{number}"))).map(drop))),
            "folders" => Ok(until_full(|number| std::fs::create_dir(own(&format!("folder{number}"))))),
            "links" => File::create(own("linked")).map(|_| {
                until_full(|number| std::fs::hard_link(own("linked"), own(&format!("link{number}"))))
            }),
            "removed" => {
                let mut open = Vec::new();
                Ok(until_full(|_| {
                    let mut file = File::create(own("removed"))?;
                    let written = file.write_all(&vec![b'x'; args.n_or(1) as usize]);
                    open.push(file);
                    std::fs::remove_file(own("removed")).and(written)
                }))
            }
            "deep" => deep(name.parse().unwrap_or(1), args.n_or(1))
                .map(|()| "made".to_owned())
                .map_err(|code| io::Error::other(code.name())),
            "remove" => std::fs::remove_file(own(name)).map(|()| "removed".to_owned()),
            "hold" => File::open(own(name)).map(|_held| {
                while !Path::new(&own("go")).exists() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                "held".to_owned()
            }),
            "move" => std::fs::rename(own(name), format!("/work/{name}")).map(|()| "moved".to_owned()),
            "share" => std::fs::hard_link(own(name), format!("/work/{name}")).map(|()| "shared".to_owned()),
            _ => std::fs::read(name).map(|_| "out".to_owned()),
        };
        Outcome::Ok(said.map_err(failed)?.into())
    }
}

/// Makes a file below so many folders that no path could name it. Each folder is opened from the one above it.
fn deep(levels: usize, bytes: u64) -> Result<(), ErrorCode> {
    let (name, rights) = ("d".repeat(250), DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY);
    let mut below: Option<Descriptor> = None;
    for _ in 0..levels {
        let here = match &below {
            Some(folder) => folder,
            None => granted().ok_or(ErrorCode::NoEntry)?,
        };
        here.create_directory_at(&name)?;
        below = Some(here.open_at(PathFlags::empty(), &name, OpenFlags::DIRECTORY, rights)?);
    }
    let innermost = below.ok_or(ErrorCode::NoEntry)?;
    let file = innermost.open_at(PathFlags::empty(), "file", OpenFlags::CREATE, DescriptorFlags::WRITE)?;
    file.set_size(bytes)
}

/// How often it worked, and why it did not any more.
fn until_full(mut make: impl FnMut(u64) -> io::Result<()>) -> String {
    let (mut made, mut why) = (0, None);
    while made < 1_000 && why.is_none() {
        match make(made) {
            Ok(()) => made += 1,
            Err(error) => why = Some(error.kind()),
        }
    }
    format!("{made} {why:?}")
}
