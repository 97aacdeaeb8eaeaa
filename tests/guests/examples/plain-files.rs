//! A component that knows nothing of us, and uses WASI: it reads what it may, and writes slowly.
//!
//! A free function must not be named as one of the C library: it would take its place.

wit_bindgen::generate!({
    inline: r#"
        package acme:files;

        world files {
            export read-text: func(path: string) -> result<string, string>;
            export variable: func(name: string) -> option<string>;
            export add-lines: func(path: string, lines: u32) -> result<u32, string>;
        }
    "#,
});

use std::fs;
use std::io::Write as _;
use std::thread::sleep;
use std::time::Duration;

struct Files;

impl Guest for Files {
    fn read_text(path: String) -> Result<String, String> {
        fs::read_to_string(path).map_err(|error| error.to_string())
    }

    fn variable(name: String) -> Option<String> {
        std::env::var(name).ok()
    }

    fn add_lines(path: String, lines: u32) -> Result<u32, String> {
        for line in 0..lines {
            let mut file =
                fs::OpenOptions::new().create(true).append(true).open(&path).map_err(|error| error.to_string())?;
            file.write_all(format!("{line}\n").as_bytes()).map_err(|error| error.to_string())?;
            sleep(Duration::from_millis(400));
        }
        Ok(lines)
    }
}

export!(Files);
