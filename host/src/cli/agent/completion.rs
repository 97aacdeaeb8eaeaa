//! Tab at the prompt: commands, servers, tools, and the numbers of calls and requests, as they are at this moment.

use super::command::COMMANDS;
use super::session::Session;
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use std::sync::Arc;

pub(super) struct Completion {
    session: Arc<Session>,
}

/// What the second word of a command names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Tools,
    Servers,
    Calls,
    Requests,
    Nothing,
}

impl Names {
    fn after(command: &str) -> Self {
        match command {
            "call" | "start" => Self::Tools,
            "tools" | "events" | "connect" | "forget" => Self::Servers,
            "wait" | "watch" | "steer" | "cancel" | "show" => Self::Calls,
            "approve" | "edit" | "answer" | "deny" => Self::Requests,
            _ => Self::Nothing,
        }
    }
}

impl Completion {
    pub(super) fn new(session: Arc<Session>) -> Self {
        Self { session }
    }

    fn names(&self, what: Names) -> Vec<String> {
        let session = &self.session;
        match what {
            Names::Tools => session
                .servers
                .tools(None)
                .into_iter()
                .map(|(server, tool)| format!("{server}.{}", tool.name))
                .collect(),
            Names::Servers => {
                let known = session.approvals.memory().get().servers.into_keys();
                known.chain(session.servers.names().into_iter().map(|(name, ..)| name)).collect()
            }
            Names::Calls => session.calls().keys().map(u64::to_string).collect(),
            Names::Requests => {
                session.approvals.pending_requests().into_iter().map(|(number, _)| number.to_string()).collect()
            }
            Names::Nothing => Vec::new(),
        }
    }
}

/// Where the word at the end of the text begins, and what it may become.
fn candidates(text: &str, names: impl FnOnce(Names) -> Vec<String>) -> (usize, Vec<String>) {
    let begun = text.trim_start();
    let (start, mut all) = match begun.split_once(char::is_whitespace) {
        None => (
            text.len() - begun.len(),
            COMMANDS.iter().map(|(name, what, _)| completed(name, !what.is_empty())).collect(),
        ),
        Some((command, rest)) => {
            let word = rest.trim_start();
            if word.contains(char::is_whitespace) {
                return (text.len(), Vec::new());
            }
            (text.len() - word.len(), names(Names::after(command)))
        }
    };
    // A server chose the names of its tools.
    all.retain(|name| name.starts_with(&text[start..]) && !name.chars().any(char::is_control));
    all.sort();
    all.dedup();
    (start, all)
}

/// A command that takes more is completed to where more begins.
fn completed(name: &str, takes_more: bool) -> String {
    if takes_more { format!("{name} ") } else { name.to_owned() }
}

impl Completer for Completion {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(candidates(line.get(..pos).unwrap_or_default(), |what| self.names(what)))
    }
}

impl Hinter for Completion {
    type Hint = String;
}

impl Highlighter for Completion {}
impl Validator for Completion {}
impl Helper for Completion {}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> (usize, Vec<String>) {
        candidates(text, |what| match what {
            Names::Tools => vec!["demo.add".into(), "demo.\u{1b}[2J".into(), "demo.all".into(), "office.plan".into()],
            Names::Servers => vec!["office".into(), "demo".into(), "demo".into()],
            Names::Calls => vec!["1".into(), "12".into()],
            Names::Requests | Names::Nothing => vec![],
        })
    }

    #[test]
    fn a_word_becomes_what_fits() {
        assert_eq!(at("ser"), (0, vec!["servers".into()]));
        assert_eq!(at("  ca"), (2, vec!["call ".into(), "calls".into(), "cancel ".into()]));
        assert_eq!(at("call de"), (5, vec!["demo.add".into(), "demo.all".into()]));
        assert_eq!(at("tools "), (6, vec!["demo".into(), "office".into()]));
        assert_eq!(at("watch 1"), (6, vec!["1".into(), "12".into()]));
        assert_eq!(at("say de").1, Vec::<String>::new());
        assert_eq!(at("call demo.add {\"de").1, Vec::<String>::new());
    }

    #[test]
    fn every_command_that_names_something_exists() {
        let exists = |name: &str| COMMANDS.iter().any(|(known, ..)| *known == name);
        let named = |name: &&str| Names::after(name) != Names::Nothing && exists(name);
        let all = "call start tools events connect forget wait watch steer cancel show approve edit answer deny";
        assert!(all.split(' ').all(|name| named(&name)));
    }
}
