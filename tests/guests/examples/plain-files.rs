//! A component that knows nothing of us, and uses WASI: it reads what it may, and writes when it is let.
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
        let allowed = || fs::read_to_string(format!("{path}.allowed")).ok()?.trim().parse::<u32>().ok();
        for line in 0..lines {
            while allowed().is_none_or(|allowed| allowed <= line) {
                sleep(Duration::from_millis(20));
            }
            let mut file =
                fs::OpenOptions::new().create(true).append(true).open(&path).map_err(|error| error.to_string())?;
            file.write_all(format!("{line}\n").as_bytes()).map_err(|error| error.to_string())?;
            println!("wrote {line}");
        }
        Ok(lines)
    }
}

export!(Files);
