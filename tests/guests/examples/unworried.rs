//! Counts the entries of a folder, and takes every error for an empty one. `roots` names the directories that it was given.

guests::manifest!(r#"{"name":"unworried","version":"0.1.0","description":"","requests":{"filesystem":"write"}}"#);

guests::guest! {
    fn run(args) {
        let path = args.path_or("");
        if path == "roots" {
            let given = guests::wasip2::filesystem::preopens::get_directories();
            let shown = given.iter().map(|(folder, path)| format!("{path} {:?}", folder.get_flags().map(|flags| flags.bits())));
            return Ok(shown.collect::<Vec<_>>().join(", ").into());
        }
        if let Some(path) = path.strip_prefix("make ") {
            return Ok(format!("made: {}", std::fs::create_dir(path).is_ok()).into());
        }
        if let Some(path) = path.strip_prefix("look ") {
            return Ok(format!("there: {}", std::fs::exists(path).unwrap_or(false)).into());
        }
        Ok(format!("files: {}", std::fs::read_dir(&path).map_or(0, Iterator::count)).into())
    }
}
