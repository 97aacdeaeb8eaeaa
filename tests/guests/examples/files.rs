//! Does one thing to every path it is told, without libc in between, and says what came of each: the hostile half of the
//! filesystem's table. `path` is JSON, `{"operation": "read", "paths": [...]}`; `n` repeats it all, for a race.

use guests::raw::granted;
use guests::wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags};
use serde_json::{Value, json};
use std::collections::BTreeMap;

guests::manifest!(r#"{"name":"files","version":"0.1.0","description":"","requests":{"filesystem":"write"}}"#);

/// What it writes, wherever it gets.
const MARK: &[u8] = b"written by a guest";

guests::guest! {
    fn run(args) {
        let told: Value = serde_json::from_str(&args.path_or("{}")).map_err(guests::failed)?;
        let operation = told["operation"].as_str().unwrap_or_default();
        let folder = granted().ok_or_else(|| guests::failed("no directory is granted"))?;
        // What came of it, and how often: in a race the same comes of it again and again.
        let mut said = BTreeMap::<_, u64>::new();
        for _ in 0..args.n_or(1) {
            for path in told["paths"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                // Followed or not: an escape needs only one of them.
                for flags in [PathFlags::SYMLINK_FOLLOW, PathFlags::empty()] {
                    let (came, found) = match attempt(folder, operation, path, flags) {
                        Ok(found) => ("ok", found),
                        Err(code) => (code.name(), String::new()),
                    };
                    *said.entry((path, came, found)).or_default() += 1;
                }
            }
        }
        let said: Vec<_> = said.into_iter().map(|((path, came, found), times)| json!([path, came, found, times])).collect();
        Ok(Value::from(said).to_string().into())
    }
}

fn attempt(folder: &Descriptor, operation: &str, path: &str, flags: PathFlags) -> Result<String, ErrorCode> {
    let open = |open, rights| folder.open_at(flags, path, open, rights);
    let none = OpenFlags::empty();
    match operation {
        "read" => text(&open(none, DescriptorFlags::READ)?),
        "write" => open(none, DescriptorFlags::WRITE)?.write(MARK, 0).map(|_| String::new()),
        "create" => open(OpenFlags::CREATE | OpenFlags::EXCLUSIVE, DescriptorFlags::WRITE)?
            .write(MARK, 0)
            .map(|_| String::new()),
        // Truncating needs no right to write in some systems.
        "truncate" => open(OpenFlags::TRUNCATE, DescriptorFlags::READ)
            .or_else(|_| open(OpenFlags::TRUNCATE, DescriptorFlags::WRITE))?
            .set_size(1)
            .map(|()| String::new()),
        "append" => {
            let stream = open(OpenFlags::CREATE, DescriptorFlags::WRITE)?.append_via_stream()?;
            stream.blocking_write_and_flush(MARK).map(|()| String::new()).map_err(|_| ErrorCode::Io)
        }
        "mkdir" => folder.create_directory_at(path).map(|()| String::new()),
        "remove" => folder.unlink_file_at(path).or_else(|_| folder.remove_directory_at(path)).map(|()| String::new()),
        "rename-to" => {
            let mine = folder.open_at(PathFlags::empty(), "mine", OpenFlags::CREATE, DescriptorFlags::WRITE)?;
            mine.write(MARK, 0)?;
            drop(mine);
            folder.rename_at("mine", folder, path).map(|()| String::new())
        }
        "rename-from" => {
            folder.rename_at(path, folder, "taken")?;
            text(&folder.open_at(flags, "taken", none, DescriptorFlags::READ)?)
        }
        "link" => {
            let hard = folder
                .link_at(flags, path, folder, "hard")
                .and_then(|()| text(&folder.open_at(flags, "hard", none, DescriptorFlags::READ)?));
            let _ = folder.unlink_file_at("hard");
            let soft = folder.symlink_at(path, "soft").and_then(|()| {
                text(&folder.open_at(PathFlags::SYMLINK_FOLLOW, "soft", none, DescriptorFlags::READ)?)
            });
            let _ = folder.unlink_file_at("soft");
            hard.or(soft)
        }
        "times" => {
            let ancient =
                NewTimestamp::Timestamp(guests::wasip2::clocks::wall_clock::Datetime { seconds: 1, nanoseconds: 2 });
            let set = folder.set_times_at(flags, path, ancient, ancient);
            let size = folder.stat_at(flags, path).map(|stat| format!("size {}", stat.size));
            set.and(size)
        }
        "list" => {
            let entries = open(OpenFlags::DIRECTORY, DescriptorFlags::READ)?.read_directory()?;
            let mut names = Vec::new();
            while let Ok(Some(entry)) = entries.read_directory_entry() {
                names.push(entry.name);
            }
            Ok(names.join(" "))
        }
        _ => Err(ErrorCode::Unsupported),
    }
}

fn text(file: &Descriptor) -> Result<String, ErrorCode> {
    let (bytes, _) = file.read(256, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
