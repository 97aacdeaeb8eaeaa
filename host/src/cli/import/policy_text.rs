//! YAML as a policy needs it: maps, lists and texts, each with its line. A policy comes from whoever wrote the component, so it
//! is read within bounds, and anchors, aliases and tags are refused.

use super::remarks::Remarks;
use saphyr_parser::{Event, Parser, ScalarStyle};

/// Bounds what is read, and what an operator would have to read. Wassette's own examples have one kilobyte.
const MAX_BYTES: usize = 64 << 10;
/// A policy nests five deep. Bounds recursion.
const MAX_DEPTH: usize = 16;

pub(super) struct Node {
    pub(super) line: usize,
    pub(super) value: Value,
}

pub(super) enum Value {
    /// Nothing is written.
    Empty,
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

type Events<'a> = Parser<'a, saphyr_parser::StrInput<'a>>;

impl Node {
    /// The error is a sentence.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("it is larger than {} KiB", MAX_BYTES >> 10));
        }
        let mut events = Parser::new_from_str(text);
        let mut root = None;
        loop {
            let (event, line) = next(&mut events)?;
            match event {
                Event::StreamEnd => break,
                Event::Nothing | Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => {}
                _ if root.is_some() => return Err(format!("line {line}: a second document begins; write one")),
                event => root = Some(read(event, line, &mut events, 0)?),
            }
        }
        root.ok_or_else(|| "it is empty".into())
    }

    /// The members of a map. Another value has none, which is reported as a remark unless the value is empty.
    pub(super) fn members(&self, what: &str, remarks: &mut Remarks) -> &[(String, Node)] {
        match &self.value {
            Value::Map(members) => members,
            Value::Empty => &[],
            Value::Text(_) | Value::List(_) => {
                remarks.leave_out(self.line, format!("`{what}` is no map of keys"));
                &[]
            }
        }
    }

    /// The items of a list, in the same way.
    pub(super) fn items(&self, what: &str, remarks: &mut Remarks) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            Value::Empty => &[],
            Value::Text(_) | Value::Map(_) => {
                remarks.leave_out(self.line, format!("`{what}` is no list"));
                &[]
            }
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Empty | Value::List(_) | Value::Map(_) => None,
        }
    }
}

fn next<'a>(events: &mut Events<'a>) -> Result<(Event<'a>, usize), String> {
    match events.next_event() {
        Some(Ok((event, span))) => Ok((event, span.start.line())),
        Some(Err(error)) => Err(format!("it is no YAML: {error}")),
        None => Ok((Event::StreamEnd, 0)),
    }
}

fn read<'a>(event: Event<'a>, line: usize, events: &mut Events<'a>, depth: usize) -> Result<Node, String> {
    let wrong = |what: &str| Err(format!("line {line}: {what}"));
    if depth > MAX_DEPTH {
        return wrong("it is nested too deeply");
    }
    let value = match event {
        Event::Scalar(_, _, anchor, _) | Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _)
            if anchor > 0 =>
        {
            return wrong("anchors are not read; write out what is meant");
        }
        Event::Scalar(_, _, _, Some(_)) | Event::SequenceStart(_, Some(_)) | Event::MappingStart(_, Some(_)) => {
            return wrong("tags are not read; leave them out");
        }
        Event::Scalar(text, ScalarStyle::Plain, ..) if matches!(&*text, "" | "~" | "null") => Value::Empty,
        Event::Scalar(text, ..) => Value::Text(text.into_owned()),
        Event::SequenceStart(..) => {
            let mut items = Vec::new();
            loop {
                match next(events)? {
                    (Event::SequenceEnd, _) => break Value::List(items),
                    (event, line) => items.push(read(event, line, events, depth + 1)?),
                }
            }
        }
        Event::MappingStart(..) => {
            let mut members: Vec<(String, Node)> = Vec::new();
            loop {
                let (event, line) = next(events)?;
                if matches!(event, Event::MappingEnd) {
                    break Value::Map(members);
                }
                let Value::Text(key) = read(event, line, events, depth + 1)?.value else {
                    return Err(format!("line {line}: a key is no text"));
                };
                // Parsers differ in which of two equal keys they take.
                if members.iter().any(|(known, _)| *known == key) {
                    return Err(format!("line {line}: the key `{key}` is there twice"));
                }
                let (event, line) = next(events)?;
                members.push((key, read(event, line, events, depth + 1)?));
            }
        }
        Event::Alias(_) => return wrong("aliases are not read; write out what is meant"),
        _ => return wrong("it ends too early"),
    };
    Ok(Node { line, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_something_else_is_refused() {
        for (text, why) in [
            ("a: &x [1]\nb: *x", "line 1: anchors are not read"),
            ("a: *x", "it is no YAML"),
            ("a: !!binary aGk=", "line 1: tags are not read"),
            ("a: 1\nb: 2\na: 3", "line 3: the key `a` is there twice"),
            ("a: 1\n---\nb: 2", "line 3: a second document"),
            ("[1]: 2", "line 1: a key is no text"),
            ("a: [", "it is no YAML"),
            ("", "it is empty"),
        ] {
            let error = Node::parse(text).err().unwrap_or_default();
            assert!(error.starts_with(why), "{text:?}: {error}");
        }
        let deep = "[".repeat(40) + &"]".repeat(40);
        assert!(Node::parse(&deep).err().unwrap().contains("nested too deeply"));
        assert!(Node::parse(&"a".repeat(MAX_BYTES + 1)).err().unwrap().contains("larger than 64 KiB"));
        let node = Node::parse("a:\n  - b: 'null'\n  - null\n").unwrap();
        let items = node.members("", &mut Remarks::default())[0].1.items("", &mut Remarks::default());
        assert_eq!((items[0].line, items[1].line), (2, 3));
        assert!(matches!(items[1].value, Value::Empty));
        assert_eq!(items[0].members("", &mut Remarks::default())[0].1.text(), Some("null"));
    }
}
