//! Questions of a tool, put to whoever sits at the terminal.

use super::{forms, printable_lines};
use async_trait::async_trait;
use platform::telemetry::printable;
use runtime::imports::{Abilities, Asked, ClientCalls, ClientError, Decision, Inquiry, Reply};
use serde_json::Value;
use std::io::{BufRead, IsTerminal, Write};

/// Asks on stderr and reads stdin; answers nothing when that is no terminal.
pub(super) struct Person;

#[async_trait]
impl ClientCalls for Person {
    fn abilities(&self) -> Abilities {
        let there = std::io::stdin().is_terminal();
        Abilities { form: there, url: there, ..Abilities::default() }
    }

    async fn ask(&self, inquiry: Inquiry) -> Result<Vec<Reply>, ClientError> {
        let asking = move || {
            let plugin = &inquiry.plugin.name;
            inquiry.questions.iter().map(|(_, asked)| put(plugin, asked)).collect()
        };
        // A person takes the time a person takes.
        tokio::task::spawn_blocking(asking).await.map_err(|error| ClientError::Failed(error.to_string()))
    }
}

fn put(plugin: &str, asked: &Asked) -> Reply {
    match asked {
        Asked::Form { message, schema } => {
            eprintln!("\n{plugin} asks: {}", printable_lines(message));
            match serde_json::from_str::<Value>(schema.text()) {
                Ok(schema) => {
                    eprintln!("  {}", forms::HINT);
                    match forms::fill(&schema, &mut line) {
                        Some(content) => Reply::Form(Decision::Accept, Some(content.into())),
                        None => Reply::Form(Decision::Cancel, None),
                    }
                }
                Err(error) => Reply::Failed(error.to_string()),
            }
        }
        Asked::Url { message, url, .. } => {
            eprintln!("\n{plugin} asks you to open a page: {}\n  {}", printable_lines(message), printable(url));
            match line("Done? (yes / no) ") {
                Some(said) if forms::yes(&said) == Some(true) => Reply::Url(Decision::Accept),
                Some(_) => Reply::Url(Decision::Decline),
                None => Reply::Url(Decision::Cancel),
            }
        }
        Asked::Sample(_) | Asked::Roots => Reply::Failed("nobody at a terminal can answer that".into()),
    }
}

/// What is typed after this prompt; none: nobody types any more.
pub(super) fn line(prompt: &str) -> Option<String> {
    let mut out = std::io::stderr();
    write!(out, "{prompt}").and_then(|()| out.flush()).ok()?;
    let mut said = String::new();
    let read = std::io::stdin().lock().read_line(&mut said).unwrap_or_default();
    if read == 0 {
        // The cursor stands behind the prompt.
        let _ = writeln!(out);
        return None;
    }
    Some(said.trim().to_owned())
}

/// Whether it is agreed to; saying nothing is saying no. None: nobody types any more.
pub(super) fn agreed(question: &str) -> Option<bool> {
    loop {
        let said = line(&format!("{question} [y/N] "))?;
        match forms::yes(&said) {
            Some(yes) => return Some(yes),
            None if said.is_empty() => return Some(false),
            None => eprintln!("  y or n; Enter means no."),
        }
    }
}
