//! The agent at a terminal: a prompt, and events above it.

use super::command::AgentCommand;
use super::completion::PromptCompleter;
use super::execute::{CommandFlow, Dialog};
use super::quiet_terminal::QuietTerminal;
use super::screen::Screen;
use super::session::AgentSession;
use crate::cli::frame::{self, wrapped};
use crate::config;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};
use serde_json::json;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Size of the largest text that is read from an editor, in bytes.
const MAX_EDITED: u64 = 1 << 20;
const PROMPT: &str = "agent> ";

/// The line editor. It completes words once its completer knows the session.
type Lines = Editor<PromptCompleter, FileHistory>;

/// Reads commands until the user quits. `history` is the file of earlier lines. Blocks.
pub(super) fn run(session: &Arc<AgentSession>, mut terminal: Terminal, history: Option<PathBuf>) -> Result<(), String> {
    terminal.lines.set_helper(Some(PromptCompleter::new(session.clone())));
    loop {
        let line = match terminal.lines.readline(PROMPT) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                session.screen.show(&json!({}), "`quit` stops; `cancel CALL` stops a call");
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(format!("cannot read the terminal: {error}")),
        };
        if !line.trim().is_empty() {
            // A failure loses only the history.
            let _ = terminal.lines.add_history_entry(line.as_str());
        }
        let done = match AgentCommand::parse(&line) {
            Ok(None) => Ok(CommandFlow::Continue),
            Ok(Some(command)) => Handle::current().block_on(async {
                tokio::select! {
                    done = session.execute(command, &mut terminal, false) => done,
                    _ = tokio::signal::ctrl_c() => Err("interrupted".into()),
                }
            }),
            Err(error) => Err(error),
        };
        match done {
            Ok(CommandFlow::Continue) => {}
            Ok(CommandFlow::Quit) => break,
            Err(error) => session.screen.show_error(&error),
        }
    }
    if let Some(history) = history {
        // A failure loses only the history.
        let _ = terminal.lines.save_history(&history);
    }
    Ok(())
}

/// A line editor that prints output above the prompt. From now on only the editor echoes what is typed.
pub(super) fn open(screen: &Screen, history: Option<&PathBuf>) -> Result<Terminal, String> {
    let fail = |error: ReadlineError| format!("cannot use the terminal: {error}");
    let config = Config::builder().auto_add_history(false).completion_type(CompletionType::List).build();
    let mut lines = Lines::with_config(config).map_err(fail)?;
    if let Some(history) = history {
        // The first run has no history.
        let _ = lines.load_history(history);
    }
    screen.above_prompt(Box::new(lines.create_external_printer().map_err(fail)?));
    Ok(Terminal { lines, quiet: QuietTerminal::start() })
}

pub(super) struct Terminal {
    lines: Lines,
    quiet: QuietTerminal,
}

impl Dialog for Terminal {
    fn line(&mut self, prompt: &str) -> Option<String> {
        let columns = frame::size(std::io::stdout()).map(|(_, columns)| columns);
        self.lines.readline(&*wrapped(prompt, columns)).ok().map(|line| line.trim().to_owned())
    }

    fn edit(&mut self, text: &str) -> Result<String, String> {
        let fail = |error: std::io::Error| format!("cannot edit the text: {error}");
        let Some(editor) = config::editor() else {
            return Err("set EDITOR, or give the new text after the command".into());
        };
        let arguments = super::servers::split_command(&editor)?;
        let file = tempfile::NamedTempFile::new().map_err(fail)?;
        std::fs::write(file.path(), text).map_err(fail)?;
        let mut program = std::process::Command::new(&arguments[0]);
        program.args(&arguments[1..]).arg(file.path());
        let status = self.quiet.lend(|| program.status()).map_err(fail)?;
        if !status.success() {
            return Err("the editor failed; nothing was decided".into());
        }
        let mut edited = String::new();
        std::fs::File::open(file.path()).map_err(fail)?.take(MAX_EDITED).read_to_string(&mut edited).map_err(fail)?;
        Ok(edited.trim_end().to_owned())
    }
}
