//! The agent's commands and their syntax.

use crate::cli::call_arguments::CallArguments;
use crate::cli::text::json_error;
use crate::config;
use agent::{Reaction, ReactionError};
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum AgentCommand {
    List,
    Tools(Option<String>),
    Call {
        tool: String,
        arguments: CallArguments,
        wait: bool,
    },
    /// Allows a request once, or refuses it. Without a number, it decides the only request that waits.
    Decide(Option<u64>, bool),
    Wait(Option<u64>),
    Calls,
    Resume,
    Watch(u64),
    Show(u64),
    Waiting,
    Approve(Option<u64>, ApprovalScope),
    Deny(Option<u64>, String),
    Edit(Option<u64>, String),
    Answer(Option<u64>, String),
    Cancel(u64),
    Steer(Option<u64>, String),
    Servers,
    /// The server, and the file with its API key.
    Connect(String, Option<String>),
    Forget(String),
    Repeat(String),
    Events(Option<String>),
    When(String),
    Say(String),
    History,
    Help,
    Quit,
}

/// How long an approval lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApprovalScope {
    Once,
    Task,
    Always,
}

/// Name, arguments and description of each command.
pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("list", "", "everything that can be called"),
    ("tools", "[SERVER|WORD]", "tools with their arguments, of a server or with a word in the name"),
    ("call", "[SERVER.]TOOL [NAME=VALUE... | JSON]", "call a tool; in a script it waits for the result"),
    ("start", "[SERVER.]TOOL [NAME=VALUE... | JSON]", "call a tool without waiting for the result"),
    ("wait", "[CALL]", "wait for a call, or for all calls"),
    ("calls", "", "running calls and tasks, and unfinished calls of earlier runs"),
    ("resume", "", "go on with calls that earlier runs left open; with a user, the agent does it when it starts"),
    ("watch", "CALL", "show the past and future output of a call"),
    ("show", "CALL", "the whole result of a call, page by page"),
    ("steer", "[CALL] TEXT", "send a message to a running call"),
    ("cancel", "CALL", "stop a call, also on its server"),
    ("waiting", "", "requests that wait for your decision"),
    ("approve", "[N] [task|always]", "allow a request once, until the call ends, or always"),
    ("edit", "[N] [JSON|TEXT]", "allow a request with other arguments or text; without them, edit in $EDITOR"),
    ("answer", "[N] [JSON|TEXT]", "answer a form or a request to a model; without JSON the form is asked line by line"),
    ("deny", "[N] [REASON]", "refuse a request"),
    ("yes", "[N]", "allow a request once; without N, the one that waits"),
    ("no", "[N]", "refuse a request likewise"),
    ("servers", "", "servers and whether they are connected"),
    ("connect", "NAME=URL [--key-file FILE]", "connect a server and remember it; NAME alone connects a known server"),
    ("connect", "NAME=COMMAND", "the same for a server that this starts"),
    ("forget", "SERVER|CALL", "forget a server and its approvals, or an unfinished call"),
    ("repeat", "CALL", "repeat an unfinished call"),
    ("events", "[SERVER]", "the events in the inbox"),
    ("when", "\"WORDS\" steer TEXT|cancel", "let the scripted model act when an injected chunk contains these words"),
    ("say", "TEXT", "add a line to the transcript"),
    ("history", "", "past calls and decisions"),
    ("help", "", "this list"),
    (
        "quit",
        "",
        "stop the agent and cancel running calls; tasks, and calls that wait for your answer, stay open on their servers",
    ),
];

impl AgentCommand {
    /// Parses a line; none for an empty line or a comment. The error is a sentence.
    pub(super) fn parse(line: &str) -> Result<Option<Self>, String> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        let (name, rest) = line.split_once(char::is_whitespace).map_or((line, ""), |(name, rest)| (name, rest.trim()));
        let usage = || {
            let known = COMMANDS.iter().find(|(known, ..)| *known == name);
            known.map_or_else(
                || match config::most_like(name, COMMANDS.iter().map(|(known, ..)| *known)) {
                    Some(meant) => format!("there is no command `{name}`; did you mean `{meant}`?"),
                    None => format!("there is no command `{name}`; see `help`"),
                },
                |(name, what, _)| format!("usage: {name} {what}").trim_end().to_owned(),
            )
        };
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let needed = |text: &str| some(text).ok_or_else(usage);
        let number = |text: &str| text.parse::<u64>().map_err(|_| usage());
        let (first, after) = leading_number(rest);
        Ok(Some(match name {
            "list" => AgentCommand::List,
            "tools" => AgentCommand::Tools(some(rest)),
            "call" | "start" => {
                let (tool, arguments) = call(&needed(rest)?)?;
                AgentCommand::Call { tool, arguments, wait: name == "call" }
            }
            "wait" if rest.is_empty() => AgentCommand::Wait(None),
            "wait" => AgentCommand::Wait(Some(number(rest)?)),
            "calls" => AgentCommand::Calls,
            "resume" => AgentCommand::Resume,
            "watch" => AgentCommand::Watch(number(rest)?),
            "show" => AgentCommand::Show(number(rest)?),
            "waiting" => AgentCommand::Waiting,
            "approve" => AgentCommand::Approve(
                first,
                match after {
                    "" => ApprovalScope::Once,
                    "task" => ApprovalScope::Task,
                    "always" => ApprovalScope::Always,
                    _ => return Err(usage()),
                },
            ),
            "yes" | "no" if after.is_empty() => AgentCommand::Decide(first, name == "yes"),
            "deny" => AgentCommand::Deny(first, after.to_owned()),
            "edit" => AgentCommand::Edit(first, after.to_owned()),
            "answer" => AgentCommand::Answer(first, after.to_owned()),
            "cancel" => AgentCommand::Cancel(number(rest)?),
            "steer" => AgentCommand::Steer(first, needed(after)?),
            "servers" => AgentCommand::Servers,
            "connect" => match needed(rest)?.split_once(" --key-file ") {
                Some((server, file)) => AgentCommand::Connect(server.trim().to_owned(), Some(file.trim().to_owned())),
                None => AgentCommand::Connect(rest.to_owned(), None),
            },
            "forget" => AgentCommand::Forget(needed(rest)?),
            "repeat" => AgentCommand::Repeat(needed(rest)?),
            "events" => AgentCommand::Events(some(rest)),
            "when" => AgentCommand::When(needed(rest)?),
            "say" => AgentCommand::Say(needed(rest)?),
            "history" => AgentCommand::History,
            "help" | "?" => AgentCommand::Help,
            "quit" | "exit" => AgentCommand::Quit,
            _ => return Err(usage()),
        }))
    }
}

fn leading_number(text: &str) -> (Option<u64>, &str) {
    let (first, after) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    first.parse().map_or((None, text), |number| (Some(number), after.trim()))
}

/// Parses `TOOL [ARGUMENTS]`.
fn call(text: &str) -> Result<(String, CallArguments), String> {
    let (tool, arguments) = text.split_once(char::is_whitespace).map_or((text, ""), |(tool, rest)| (tool, rest.trim()));
    Ok((tool.to_owned(), CallArguments::from_line(arguments)?))
}

/// Parses a JSON object. The error is a sentence.
pub(super) fn object(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(format!("{text:?} is JSON, but no object; for example: {{\"n\": 1}}")),
        Err(error) => Err(format!("{}\nfor example: {{\"n\": 1}}", json_error(text, &error))),
    }
}

/// Parses the value of `--on`. The error is a sentence.
pub(super) fn reaction(text: &str) -> Result<Reaction, String> {
    text.parse().map_err(|error: ReactionError| match &error.malformed {
        Some((arguments, why)) => format!(
            "{}\nfor example: --on 'disk.*=call office.notes.add {{\"text\": \"the disk is full\"}}'",
            json_error(arguments, why)
        ),
        None => error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> AgentCommand {
        AgentCommand::parse(line).unwrap().unwrap()
    }

    #[test]
    fn lines_are_parsed() {
        assert_eq!(parsed(" approve "), AgentCommand::Approve(None, ApprovalScope::Once));
        assert_eq!(parsed("approve 3 always"), AgentCommand::Approve(Some(3), ApprovalScope::Always));
        assert_eq!(parsed("approve task"), AgentCommand::Approve(None, ApprovalScope::Task));
        assert_eq!(parsed("yes"), AgentCommand::Decide(None, true));
        assert_eq!(parsed("no 2"), AgentCommand::Decide(Some(2), false));
        assert_eq!(parsed("deny 2 not today"), AgentCommand::Deny(Some(2), "not today".into()));
        assert_eq!(parsed("steer make it a comedy"), AgentCommand::Steer(None, "make it a comedy".into()));
        assert_eq!(parsed("steer 4 shorter"), AgentCommand::Steer(Some(4), "shorter".into()));
        let AgentCommand::Call { tool, arguments, wait } = parsed(r#"call demo.notes.add {"text": "a b"}"#) else {
            panic!()
        };
        let arguments = Value::from(arguments.for_schema(&Value::Null));
        assert_eq!((tool.as_str(), &arguments["text"], wait), ("demo.notes.add", &Value::from("a b"), true));
        assert_eq!(AgentCommand::parse("  # nothing").unwrap(), None);
    }

    #[test]
    fn malformed_lines_show_the_usage() {
        for (bad, words) in [
            ("sing", "help"),
            ("cancel", "usage: cancel CALL"),
            ("cancel all", "usage"),
            ("call x [1]", "no object"),
            ("call x {\"n\": 1 2}", "^"),
            ("cal x", "did you mean `call`?"),
            ("approve 1 maybe", "usage"),
            ("yes always", "usage"),
            ("steer 4", "usage"),
        ] {
            let error = AgentCommand::parse(bad).unwrap_err();
            assert!(error.contains(words), "{bad}: {error}");
        }
    }

    #[test]
    fn every_command_in_the_help_exists() {
        for (name, ..) in COMMANDS {
            let error = [format!("{name} 1 x"), format!("{name} x")].map(|line| AgentCommand::parse(&line).err());
            assert!(error.iter().flatten().all(|error| !error.contains("no command")), "{name}: {error:?}");
        }
    }
}
