//! Begins to read one granted folder a million times and ends none of it; or reads it once, whole, for `n` = 0.

guests::manifest!(r#"{"name":"open-listings","version":"0.1.0","description":"","requests":{"filesystem":"read"}}"#);

guests::guest! {
    fn run(args) {
        let path = args.path_or("/work");
        if args.n == Some(0) {
            let entries = std::fs::read_dir(path).map_err(guests::failed)?;
            let mut names = Vec::new();
            for entry in entries {
                let entry = entry.map_err(guests::failed)?;
                let kind = entry.file_type().map_err(guests::failed)?;
                names.push(format!("{}{}", entry.file_name().to_string_lossy(), if kind.is_dir() { "/" } else { "" }));
            }
            names.sort();
            return Ok(names.join(" ").into());
        }
        for number in 0..args.n_or(1_000_000) {
            let mut entries = std::fs::read_dir(&path).map_err(|error| guests::failed(format!("{number}: {error}")))?;
            entries.next();
            std::mem::forget(entries);
        }
        Ok(format!("began {}", args.n_or(1_000_000)).into())
    }
}
