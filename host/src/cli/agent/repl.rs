//! The agent at a terminal: a prompt, and above it what happens meanwhile.

use super::command::Command;
use super::execute::{Dialog, Flow};
use super::screen::Screen;
use super::session::Session;
use crate::config;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};
use serde_json::json;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::runtime::Handle;

/// The largest text that is taken from an editor.
const MAX_EDITED: u64 = 1 << 20;
const PROMPT: &str = "agent> ";

type Lines = Editor<(), FileHistory>;

/// Reads commands until the user has enough. `history` is the file of lines typed before. Blocks.
pub(super) fn run(session: &Arc<Session>, lines: Lines, history: Option<PathBuf>) -> Result<(), String> {
    let mut terminal = Terminal { lines };
    loop {
        let line = match terminal.lines.readline(PROMPT) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                session.screen.show(&json!({}), "`quit` stops; `cancel CALL` stops a call");
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(format!("the terminal cannot be read: {error}")),
        };
        if !line.trim().is_empty() {
            // A line that is not kept is typed again.
            let _ = terminal.lines.add_history_entry(line.as_str());
        }
        let done = match Command::parse(&line) {
            Ok(None) => Ok(Flow::On),
            Ok(Some(command)) => Handle::current().block_on(session.execute(command, &mut terminal, false)),
            Err(error) => Err(error),
        };
        match done {
            Ok(Flow::On) => {}
            Ok(Flow::Quit) => break,
            Err(error) => session.screen.show(&json!({}), &format!("error: {error}")),
        }
    }
    if let Some(history) = history {
        // Nor is it worth failing for.
        let _ = terminal.lines.save_history(&history);
    }
    Ok(())
}

/// A line editor whose output stands above what is being typed.
pub(super) fn open(screen: &Screen, history: Option<&PathBuf>) -> Result<Lines, String> {
    let fail = |error: ReadlineError| format!("the terminal cannot be used: {error}");
    let config = Config::builder().auto_add_history(false).build();
    let mut lines = Lines::with_config(config).map_err(fail)?;
    if let Some(history) = history {
        // The first run has none.
        let _ = lines.load_history(history);
    }
    screen.above_prompt(Box::new(lines.create_external_printer().map_err(fail)?));
    Ok(lines)
}

struct Terminal {
    lines: Lines,
}

impl Dialog for Terminal {
    fn line(&mut self, prompt: &str) -> Option<String> {
        self.lines.readline(prompt).ok().map(|line| line.trim().to_owned())
    }

    fn edit(&mut self, text: &str) -> Result<String, String> {
        let fail = |error: std::io::Error| format!("the text cannot be edited: {error}");
        let Some(editor) = config::editor() else {
            return Err("set EDITOR, or give the new text behind the command".into());
        };
        let words = super::links::split(&editor)?;
        let file = tempfile::NamedTempFile::new().map_err(fail)?;
        std::fs::write(file.path(), text).map_err(fail)?;
        let status = std::process::Command::new(&words[0]).args(&words[1..]).arg(file.path()).status().map_err(fail)?;
        if !status.success() {
            return Err("the editor failed; nothing is decided".into());
        }
        let mut edited = String::new();
        std::fs::File::open(file.path()).map_err(fail)?.take(MAX_EDITED).read_to_string(&mut edited).map_err(fail)?;
        Ok(edited.trim_end().to_owned())
    }
}
