//! Asks the user at the terminal.

use super::forms;
use super::frame::{self, said, wrapped};
use super::terminal::TerminalSink;
use async_trait::async_trait;
use platform::telemetry::printable;
use runtime::imports::{Abilities, CheckedQuestion, ClientCalls, ClientError, ClientReply, Consent, QuestionBatch};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde_json::Value;
use std::io::{BufRead, IsTerminal, Write};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Longest line that is typed without being shown, in bytes.
const MAX_TYPED: usize = 8 << 10;

/// A client that answers questions of a tool: asks on stderr and reads stdin. Has no abilities without a terminal.
pub(super) struct TerminalClient {
    /// The tool's output. Its progress bar is removed before a question.
    pub(super) sink: Arc<TerminalSink>,
}

impl TerminalClient {
    /// Why a tool cannot ask here what it has to ask, and what helps. None if it can.
    pub(super) fn lacks(missing: Abilities) -> Option<String> {
        let why = match missing {
            Abilities { form: true, .. } | Abilities { url: true, .. } => {
                "this tool has to ask you, and there is no terminal to answer at: call it at a terminal"
            }
            Abilities { sample: true, .. } => {
                "this tool has to ask a model, and a terminal has none: set [model] and grant client.sample.fallback"
            }
            Abilities { roots: true, .. } => {
                "this tool has to know which folders you work in, which a terminal cannot say"
            }
            Abilities { form: false, url: false, sample: false, sample_tools: _, roots: false } => return None,
        };
        let instead = if missing.roots { "" } else { ", or write the answer into a transcript for `portcullis test`" };
        Some(format!("{why}{instead}"))
    }
}

#[async_trait]
impl ClientCalls for TerminalClient {
    fn abilities(&self) -> Abilities {
        let is_terminal = std::io::stdin().is_terminal();
        Abilities { form: is_terminal, url: is_terminal, ..Abilities::default() }
    }

    async fn ask(&self, batch: QuestionBatch) -> Result<Vec<ClientReply>, ClientError> {
        let sink = self.sink.clone();
        let asking = move || {
            sink.clear();
            let said_by = batch.author.prefix(&batch.plugin.name);
            batch.questions.iter().map(|(_, question)| ask(&said_by, question)).collect()
        };
        // No time limit, since a person answers.
        tokio::task::spawn_blocking(asking).await.map_err(|error| ClientError::Failed(error.to_string()))
    }
}

fn ask(said_by: &str, question: &CheckedQuestion) -> ClientReply {
    match question {
        CheckedQuestion::Form { message, schema } => {
            eprintln!("\n{}", said(said_by, message, columns()));
            match serde_json::from_str::<Value>(schema.text()) {
                Ok(_) if !schema.has_fields() => ClientReply::Form(consent("  your answer"), None),
                Ok(schema) => {
                    eprintln!("  {}", forms::HINT);
                    match forms::fill_form(&schema, &mut read_line) {
                        Some(content) => ClientReply::Form(Consent::Accept, Some(content.into())),
                        None => ClientReply::Form(Consent::Cancel, None),
                    }
                }
                Err(error) => ClientReply::Failed(error.to_string()),
            }
        }
        CheckedQuestion::Url { message, url, .. } => {
            eprintln!("\n{}", said(said_by, message, columns()));
            eprintln!("  {}", printable(url));
            ClientReply::Url(consent("Done?"))
        }
        CheckedQuestion::Sample(_) | CheckedQuestion::Roots => {
            ClientReply::Failed("nobody at a terminal can answer that".into())
        }
    }
}

fn consent(question: &str) -> Consent {
    match confirm(question) {
        Some(true) => Consent::Accept,
        Some(false) => Consent::Decline,
        None => Consent::Cancel,
    }
}

/// Columns of the terminal where questions are asked.
fn columns() -> Option<usize> {
    frame::size(std::io::stderr()).map(|(_, columns)| columns)
}

/// Shows a prompt and reads a line; none at the end of input.
pub(super) fn read_line(prompt: &str) -> Option<String> {
    let mut out = std::io::stderr();
    write!(out, "{}", wrapped(prompt, columns())).and_then(|()| out.flush()).ok()?;
    let mut input = String::new();
    let read = std::io::stdin().lock().read_line(&mut input).unwrap_or_default();
    if read == 0 {
        // Ends the line of the prompt.
        let _ = writeln!(out);
        return None;
    }
    Some(input.trim().to_owned())
}

/// Reads a line that the terminal does not show; none at the end of input.
pub(super) fn read_hidden(prompt: &str) -> std::io::Result<Option<Zeroizing<String>>> {
    let shown = tcgetattr(std::io::stdin())?;
    let mut hidden = shown.clone();
    // Ctrl-C is a byte like others, so that it cannot end the program before the terminal shows again what is typed.
    hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
    tcsetattr(std::io::stdin(), OptionalActions::Flush, &hidden)?;
    eprint!("{prompt}");
    let typed = read_typed();
    tcsetattr(std::io::stdin(), OptionalActions::Now, &shown)?;
    eprintln!();
    typed
}

/// Reads bytes of a terminal up to the end of the line. None for Ctrl-C and Ctrl-D.
fn read_typed() -> std::io::Result<Option<Zeroizing<String>>> {
    // Has its full size from the start: moving it to grow would leave copies of the secret in memory.
    let mut typed = Zeroizing::new(String::with_capacity(MAX_TYPED));
    loop {
        let mut byte = [0];
        if rustix::io::read(std::io::stdin(), &mut byte)? == 0 {
            return Ok(None);
        }
        match byte[0] {
            b'\r' | b'\n' => return Ok(Some(typed)),
            // Ctrl-C and Ctrl-D.
            3 | 4 => return Ok(None),
            // Backspace.
            8 | 127 => drop(typed.pop()),
            byte if typed.len() < MAX_TYPED && byte.is_ascii() => typed.push(byte.into()),
            _ => return Err(std::io::Error::other("what was typed is too long, or not ASCII")),
        }
    }
}

/// The user's agreement, which commands need that change what plugins may do.
#[derive(clap::Args)]
pub(super) struct Agreement {
    /// Agree without being asked.
    #[arg(long, short)]
    yes: bool,
}

impl Agreement {
    /// Asks, unless the option is given. `command` does the same without a terminal when the option is appended.
    pub(super) fn get(&self, question: &str, command: &str) -> anyhow::Result<bool> {
        if self.yes {
            return Ok(true);
        }
        anyhow::ensure!(
            std::io::stdin().is_terminal(),
            "there is no terminal to ask at, so nothing was changed. If whoever runs this host agrees: {command} --yes"
        );
        Ok(confirm(question) == Some(true))
    }
}

/// Asks for yes or no; Enter means no. None at the end of input.
pub(super) fn confirm(question: &str) -> Option<bool> {
    loop {
        let input = read_line(&format!("{question} [y/N] "))?;
        match forms::parse_yes_no(&input) {
            Some(yes) => return Some(yes),
            None if input.is_empty() => return Some(false),
            None => eprintln!("  y or n; Enter means no."),
        }
    }
}
