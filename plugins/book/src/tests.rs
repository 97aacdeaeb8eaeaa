//! Books of the fake host's.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::cell::Cell;

use portcullis_guest::agent_tools::AgentError;
use portcullis_guest::testing::Host;
use portcullis_guest::{Role, ToolError};
use serde_json::{Value, json};

use crate::book::PLUGIN;

fn write(host: &Host, chapters: u32) -> Result<String, ToolError> {
    let arguments = json!({ "topic": " the  moat", "chapters": chapters });
    host.call(&PLUGIN, "generate_book", arguments).map(|result| result.all_text())
}

/// The chunks that are part of the book, and the notes to the user.
fn parts(host: &Host) -> (Vec<String>, Vec<String>) {
    let chunks = host.chunks();
    let (notes, parts): (Vec<_>, Vec<_>) = chunks.iter().flatten().partition(|content| {
        content.annotations.as_ref().is_some_and(|annotations| annotations.audience == [Role::User])
    });
    let texts =
        |of: Vec<_>| of.into_iter().map(|c: &portcullis_guest::Content| c.as_text().unwrap().to_owned()).collect();
    (texts(parts), texts(notes))
}

#[test]
fn a_book_is_its_parts_in_order() {
    let host = Host::new();
    let book = write(&host, 2).unwrap();
    let (parts, notes) = parts(&host);
    assert_eq!(parts.concat(), book);
    assert_eq!(parts.len(), 4);
    assert!(parts[0].starts_with("# the moat\n\nA book in 2 chapters"), "{}", parts[0]);
    assert_eq!(parts[1], "- Chapter 1: Of beginnings\n- Chapter 2: Of a doubt\n\n");
    assert!(parts[2].starts_with("## Chapter 1: Of beginnings\n\nThere is more"), "{}", parts[2]);
    assert_eq!(notes, ["Writing chapter 1 of 2.", "Writing chapter 2 of 2."]);
    let reports = host.progress();
    assert_eq!((reports.len(), reports[1].done, reports[1].total), (2, 2.0, Some(2.0)));
}

/// The book's chapters.
fn chapters(book: &str) -> Vec<&str> {
    book.split("\n## ").skip(1).collect()
}

#[test]
fn a_wish_counts_from_the_next_chapter_on() {
    thread_local! {
        /// Where the tool that sets the pace finds the user.
        static USER: Cell<Option<&'static Host>> = const { Cell::new(None) };
    }
    let host: &'static Host = Box::leak(Box::new(Host::new().agent_tool("pace.next", |arguments| {
        if arguments["chapter"] == 2 {
            let user = USER.get().unwrap();
            user.steer("a tragedy");
            user.steer("make it\na comedy");
        }
        Ok(json!({}))
    })));
    USER.set(Some(host));
    let book = write(host, 3).unwrap();
    let [first, second, third] = chapters(&book)[..] else { panic!("{book}") };
    assert!(!first.contains("As was asked for"), "{book}");
    assert!(second.contains("As was asked for: make it a comedy.") && third.contains("make it a comedy"), "{book}");
    assert!(parts(host).1.contains(&"From chapter 2 on: a tragedy".to_owned()));
    let asked: Vec<Value> = host.agent_calls().into_iter().map(|call| call.arguments).collect();
    assert_eq!(asked, [1, 2, 3].map(|chapter| json!({ "chapter": chapter })));
}

#[test]
fn without_listeners_the_book_is_the_same() {
    let whole = write(&Host::new(), 3).unwrap();
    let host = Host::new().chunk_limit(1);
    assert_eq!(write(&host, 3).unwrap(), whole);
    assert_eq!(host.chunks().len(), 1);
    let host = Host::new().agent_tool("pace.next", |_| Err::<Value, _>(AgentError::Declined("no".into())));
    assert_eq!(write(&host, 3).unwrap(), whole);
    assert!(host.log()[0].message.starts_with("nobody sets the pace: declined"), "{:?}", host.log());
}

#[test]
fn a_cancelled_call_stops() {
    let host = Host::new();
    host.close_output();
    assert_eq!(write(&host, 3), Err(ToolError::Cancelled));
    let cancelled = |arguments: Value| match arguments["chapter"].as_u64() {
        Some(1) => Ok(json!({})),
        _ => Err(AgentError::Cancelled),
    };
    let host = Host::new().agent_tool("pace.next", cancelled);
    assert_eq!(write(&host, 3), Err(ToolError::Cancelled));
    assert_eq!(chapters(&parts(&host).0.concat()).len(), 1, "what was written has been said");
}
