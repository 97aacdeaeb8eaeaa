//! Calls the libraries that `cargo xtask libraries --guests` has built into plugins of a language, and prints a table in Markdown. Its arguments are the
//! language and the list of what was built.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let [language, index] = &words[..] else {
        eprintln!("arguments: LANGUAGE INDEX; `cargo xtask libraries --guests` has them");
        return ExitCode::FAILURE;
    };
    if suite::guest_libraries::report(language, Path::new(index)) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
