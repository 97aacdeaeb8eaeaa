//! Opens one granted file `n` times, or a million, and closes none.

guests::manifest!(r#"{"name":"open-files","version":"0.1.0","description":"","requests":{"filesystem":"read"}}"#);

guests::guest! {
    fn run(args) {
        for number in 0..args.n_or(1_000_000) {
            let file = std::fs::File::open(args.path_or("/work/inside.txt")).map_err(|error| guests::failed(format!("{number}: {error}")))?;
            std::mem::forget(file);
        }
        Ok(format!("opened {}", args.n_or(1_000_000)).into())
    }
}
