//! What can be typed, and what it means.

use serde_json::{Map, Value};

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Command {
    List,
    Tools(Option<String>),
    Call { tool: String, arguments: Map<String, Value>, wait: bool },
    Wait(Option<u64>),
    Calls,
    Watch(u64),
    Waiting,
    Approve(Option<u64>, How),
    Deny(Option<u64>, String),
    Edit(Option<u64>, String),
    Answer(Option<u64>, String),
    Cancel(u64),
    Steer(Option<u64>, String),
    Servers,
    Connect(String),
    Forget(String),
    Repeat(String),
    Events(Option<String>),
    When(String),
    Say(String),
    History,
    Help,
    Quit,
}

/// How far a yes goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Once,
    Task,
    Always,
}

/// Name, what follows it, what it does.
pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("list", "", "everything that can be called"),
    ("tools", "[SERVER]", "tools with their arguments"),
    ("call", "[SERVER.]TOOL [JSON]", "call a tool; in a script it waits for the result"),
    ("start", "[SERVER.]TOOL [JSON]", "call a tool and never wait"),
    ("wait", "[CALL]", "wait for a call, or for all"),
    ("calls", "", "calls that run, and those that an earlier run left open"),
    ("watch", "CALL", "show what a call has said, and what it says from now on"),
    ("steer", "[CALL] TEXT", "say something to a running call"),
    ("cancel", "CALL", "stop a call"),
    ("waiting", "", "what waits for your decision"),
    ("approve", "[N] [task|always]", "allow it once, for this call, or from now on"),
    ("edit", "[N] [JSON|TEXT]", "allow it with other arguments or words; without, in $EDITOR"),
    ("answer", "[N] [JSON|TEXT]", "answer a form or a request to a model; a form without JSON is asked line by line"),
    ("deny", "[N] [REASON]", "refuse it"),
    ("servers", "", "servers and whether they are connected"),
    ("connect", "NAME=URL|COMMAND", "connect a server and remember it; NAME alone connects a known one again"),
    ("forget", "SERVER|CALL", "forget a server and what it may do, or a call that was left open"),
    ("repeat", "CALL", "make a call again that was left open"),
    ("events", "[SERVER]", "what lies in the inbox"),
    ("when", "\"WORDS\" steer TEXT|cancel", "have the scripted model act when an injected chunk has these words"),
    ("say", "TEXT", "a line for the transcript"),
    ("history", "", "what was called and decided"),
    ("help", "", "this list"),
    ("quit", "", "stop; calls that run are cancelled"),
];

impl Command {
    /// Reads a line; nothing on an empty one and on a comment. The error is a sentence.
    pub(super) fn parse(line: &str) -> Result<Option<Self>, String> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        let (name, rest) = line.split_once(char::is_whitespace).map_or((line, ""), |(name, rest)| (name, rest.trim()));
        let usage = || {
            let known = COMMANDS.iter().find(|(known, ..)| *known == name);
            known.map_or_else(
                || format!("there is no command `{name}`; see `help`"),
                |(name, what, _)| format!("usage: {name} {what}").trim_end().to_owned(),
            )
        };
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let needed = |text: &str| some(text).ok_or_else(usage);
        let number = |text: &str| text.parse::<u64>().map_err(|_| usage());
        let (first, after) = leading_number(rest);
        Ok(Some(match name {
            "list" => Command::List,
            "tools" => Command::Tools(some(rest)),
            "call" | "start" => {
                let (tool, arguments) = call(&needed(rest)?)?;
                Command::Call { tool, arguments, wait: name == "call" }
            }
            "wait" if rest.is_empty() => Command::Wait(None),
            "wait" => Command::Wait(Some(number(rest)?)),
            "calls" => Command::Calls,
            "watch" => Command::Watch(number(rest)?),
            "waiting" => Command::Waiting,
            "approve" => Command::Approve(
                first,
                match after {
                    "" => How::Once,
                    "task" => How::Task,
                    "always" => How::Always,
                    _ => return Err(usage()),
                },
            ),
            "deny" => Command::Deny(first, after.to_owned()),
            "edit" => Command::Edit(first, after.to_owned()),
            "answer" => Command::Answer(first, after.to_owned()),
            "cancel" => Command::Cancel(number(rest)?),
            "steer" => Command::Steer(first, needed(after)?),
            "servers" => Command::Servers,
            "connect" => Command::Connect(needed(rest)?),
            "forget" => Command::Forget(needed(rest)?),
            "repeat" => Command::Repeat(needed(rest)?),
            "events" => Command::Events(some(rest)),
            "when" => Command::When(needed(rest)?),
            "say" => Command::Say(needed(rest)?),
            "history" => Command::History,
            "help" | "?" => Command::Help,
            "quit" | "exit" => Command::Quit,
            _ => return Err(usage()),
        }))
    }
}

fn leading_number(text: &str) -> (Option<u64>, &str) {
    let (first, after) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    first.parse().map_or((None, text), |number| (Some(number), after.trim()))
}

/// `TOOL [JSON]`.
fn call(text: &str) -> Result<(String, Map<String, Value>), String> {
    let (tool, arguments) =
        text.split_once(char::is_whitespace).map_or((text, "{}"), |(tool, rest)| (tool, rest.trim()));
    Ok((tool.to_owned(), object(arguments)?))
}

/// A JSON object; the error is a sentence.
pub(super) fn object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("{text:?} is not a JSON object: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Command {
        Command::parse(line).unwrap().unwrap()
    }

    #[test]
    fn lines_mean_what_the_help_says() {
        assert_eq!(parsed(" approve "), Command::Approve(None, How::Once));
        assert_eq!(parsed("approve 3 always"), Command::Approve(Some(3), How::Always));
        assert_eq!(parsed("approve task"), Command::Approve(None, How::Task));
        assert_eq!(parsed("deny 2 not today"), Command::Deny(Some(2), "not today".into()));
        assert_eq!(parsed("steer make it a comedy"), Command::Steer(None, "make it a comedy".into()));
        assert_eq!(parsed("steer 4 shorter"), Command::Steer(Some(4), "shorter".into()));
        let Command::Call { tool, arguments, wait } = parsed(r#"call demo.notes.add {"text": "a b"}"#) else {
            panic!()
        };
        assert_eq!((tool.as_str(), &arguments["text"], wait), ("demo.notes.add", &Value::from("a b"), true));
        assert_eq!(Command::parse("  # nothing").unwrap(), None);
    }

    #[test]
    fn what_means_nothing_is_said_with_what_does() {
        for (bad, words) in [
            ("sing", "help"),
            ("cancel", "usage: cancel CALL"),
            ("cancel all", "usage"),
            ("call x [1]", "JSON object"),
            ("approve 1 maybe", "usage"),
            ("steer 4", "usage"),
        ] {
            let error = Command::parse(bad).unwrap_err();
            assert!(error.contains(words), "{bad}: {error}");
        }
    }

    #[test]
    fn every_command_of_the_help_exists() {
        for (name, ..) in COMMANDS {
            let error = [format!("{name} 1 x"), format!("{name} x")].map(|line| Command::parse(&line).err());
            assert!(error.iter().flatten().all(|error| !error.contains("no command")), "{name}: {error:?}");
        }
    }
}
