//! Tab at the prompt: commands, servers, tools and their arguments, and the numbers of calls and requests, as they are at this moment.

use super::command::COMMANDS;
use super::session::AgentSession;
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use std::sync::Arc;

pub(super) struct PromptCompleter {
    session: Arc<AgentSession>,
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

impl PromptCompleter {
    pub(super) fn new(session: Arc<AgentSession>) -> Self {
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

    /// The names of a tool's arguments.
    fn arguments(&self, tool: &str) -> Vec<String> {
        let schema = self.session.servers.schema(tool).unwrap_or_default();
        schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    }
}

/// Returns where the last word of the text begins, and its possible completions.
fn candidates(
    text: &str,
    names: impl FnOnce(Names) -> Vec<String>,
    arguments: impl FnOnce(&str) -> Vec<String>,
) -> (usize, Vec<String>) {
    let begun = text.trim_start();
    let (start, mut all) = match begun.split_once(char::is_whitespace) {
        None => (
            text.len() - begun.len(),
            COMMANDS.iter().map(|(name, what, _)| completed(name, !what.is_empty())).collect(),
        ),
        Some((command, rest)) => {
            let word = rest.trim_start();
            match word.split_once(char::is_whitespace) {
                None => (text.len() - word.len(), names(Names::after(command))),
                Some((tool, given)) if Names::after(command) == Names::Tools => {
                    (text.len() - last_word(given).len(), missing(arguments(tool), given))
                }
                Some(_) => return (text.len(), Vec::new()),
            }
        }
    };
    // Servers choose the names of their tools: a control character in one could drive the terminal.
    all.retain(|name| name.starts_with(&text[start..]) && !name.chars().any(char::is_control));
    all.sort();
    all.dedup();
    (start, all)
}

/// The text after the last whitespace.
fn last_word(text: &str) -> &str {
    text.rsplit(char::is_whitespace).next().unwrap_or_default()
}

/// The arguments that are not given as `name=value` yet; none if they are given as JSON.
fn missing(arguments: Vec<String>, given: &str) -> Vec<String> {
    if given.trim_start().starts_with('{') {
        return Vec::new();
    }
    let given: Vec<_> = given.split_whitespace().filter_map(|word| Some(word.split_once('=')?.0)).collect();
    let left = arguments.into_iter().filter(|name| !given.contains(&name.as_str()));
    left.filter(|name| !name.contains(char::is_whitespace)).map(|name| format!("{name}=")).collect()
}

/// Adds a space to a name after which more has to be typed.
fn completed(name: &str, takes_more: bool) -> String {
    if takes_more { format!("{name} ") } else { name.to_owned() }
}

impl Completer for PromptCompleter {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let arguments = |tool: &str| self.arguments(tool);
        Ok(candidates(line.get(..pos).unwrap_or_default(), |what| self.names(what), arguments))
    }
}

impl Hinter for PromptCompleter {
    type Hint = String;
}

impl Highlighter for PromptCompleter {}
impl Validator for PromptCompleter {}
impl Helper for PromptCompleter {}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> (usize, Vec<String>) {
        candidates(
            text,
            |what| match what {
                Names::Tools => {
                    vec!["demo.add".into(), "demo.\u{1b}[2J".into(), "demo.all".into(), "office.plan".into()]
                }
                Names::Servers => vec!["office".into(), "demo".into(), "demo".into()],
                Names::Calls => vec!["1".into(), "12".into()],
                Names::Requests | Names::Nothing => vec![],
            },
            |tool| {
                if tool == "demo.add" {
                    vec!["depth".into(), "name".into(), "de\u{1b}".into(), "d e".into()]
                } else {
                    vec![]
                }
            },
        )
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
    fn arguments_become_what_is_not_given_yet() {
        assert_eq!(at("call demo.add "), (14, vec!["depth=".into(), "name=".into()]));
        assert_eq!(at("start demo.add depth=3 na"), (23, vec!["name=".into()]));
        assert_eq!(at("call demo.add depth=3 d").1, Vec::<String>::new());
        assert_eq!(at("call other na").1, Vec::<String>::new());
        assert_eq!(at("watch 1 na").1, Vec::<String>::new());
    }

    #[test]
    fn every_command_that_names_something_exists() {
        let exists = |name: &str| COMMANDS.iter().any(|(known, ..)| *known == name);
        let named = |name: &&str| Names::after(name) != Names::Nothing && exists(name);
        let all = "call start tools events connect forget wait watch steer cancel show approve edit answer deny";
        assert!(all.split(' ').all(|name| named(&name)));
    }
}
