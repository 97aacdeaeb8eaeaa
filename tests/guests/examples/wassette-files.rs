//! What Wassette's example `filesystem-rs` is to its callers: the same interface over directories and files.

wit_bindgen::generate!({
    inline: r#"
        package component:filesystem2;

        world fs {
            export list-directory: func(path: string) -> result<list<string>, string>;
            export read-file: func(path: string) -> result<string, string>;
            export search-file: func(path: string, pattern: string) -> result<string, string>;
            export get-file-info: func(path: string) -> result<string, string>;
        }
    "#,
});

use std::fs;
use std::io;
use std::path::Path;

struct Files;

impl Guest for Files {
    fn list_directory(path: String) -> Result<Vec<String>, String> {
        let entries = fs::read_dir(path).map_err(|error| format!("Failed to read directory: {error}"))?;
        let shown = |entry: fs::DirEntry| {
            let kind = if entry.path().is_dir() { "[DIR]" } else { "[FILE]" };
            format!("{kind} {}", entry.file_name().to_string_lossy())
        };
        let mut names: Vec<String> = entries.flatten().map(shown).collect();
        names.sort();
        Ok(names)
    }

    fn read_file(path: String) -> Result<String, String> {
        fs::read_to_string(path).map_err(|error| format!("Failed to read file: {error}"))
    }

    fn search_file(path: String, pattern: String) -> Result<String, String> {
        let mut found = Vec::new();
        search(Path::new(&path), &pattern, &mut found).map_err(|error| error.to_string())?;
        found.sort();
        Ok(found.join("\n"))
    }

    fn get_file_info(path: String) -> Result<String, String> {
        fs::metadata(path).map(|it| format!("{} bytes", it.len())).map_err(|error| error.to_string())
    }
}

fn search(folder: &Path, pattern: &str, found: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().contains(pattern)) {
            found.push(path.display().to_string());
        }
        if path.is_dir() {
            search(&path, pattern, found)?;
        }
    }
    Ok(())
}

export!(Files);
