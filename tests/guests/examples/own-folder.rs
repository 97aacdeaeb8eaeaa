//! Uses the directory of its own at `/own`. `path` says how: `write NAME` with `n` bytes, `read NAME`, `list`, or any way
//! out of it: `out PATH`.

use guests::{Outcome, failed};

guests::manifest!(r#"{"name":"own-folder","version":"0.1.0","description":"","requests":{"scratch":true}}"#);

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
            _ => std::fs::read(name).map(|_| "out".to_owned()),
        };
        Outcome::Ok(said.map_err(failed)?.into())
    }
}
