//! Uses the directory of its own at `/own`. `path` says how: `write NAME` with `n` bytes, `read NAME`, `list`, `far NAME`
//! one byte at `n`, `hole NAME` of `n` bytes, `over NAME` the same bytes `n` times, `files`, `folders` or `links` until
//! there is no room for more, `removed` with files of `n` bytes that are removed while they are open; or any way out of
//! it: `out PATH`.

use guests::{Outcome, failed};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};

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
            _ => std::fs::read(name).map(|_| "out".to_owned()),
        };
        Outcome::Ok(said.map_err(failed)?.into())
    }
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
