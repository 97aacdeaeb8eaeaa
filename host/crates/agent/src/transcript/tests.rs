//! Policies decide what a model sees. A model never sees content that is for the user only.

use super::*;
use runtime::imports::{Annotations, Role};
use std::sync::Arc;

fn for_user(text: &str) -> Content {
    Content {
        annotations: Some(Annotations { audience: vec![Role::User], ..Annotations::default() }),
        ..Content::text(text)
    }
}

fn run(policy: ChunkPolicy) -> Vec<TranscriptItem> {
    let transcript = Transcript::default();
    transcript.call_started(1, policy, "demo.write", "{}");
    transcript.call_chunk(1, 0, &[Content::text("chapter 1")]);
    transcript.call_chunk(1, 1, &[for_user("a secret of the user")]);
    transcript.call_chunk(1, 2, &[Content::text("chapter 2"), for_user("a picture")]);
    transcript.call_ended(1, &[Content::text("a book"), for_user("for you")], false);
    transcript.take_items()
}

fn result() -> TranscriptItem {
    TranscriptItem::Result { call: 1, text: "a book".into(), is_error: false }
}

#[test]
fn each_policy_adds_its_items() {
    assert_eq!(run(ChunkPolicy::UiOnly)[1..], [result()]);
    let text = "2 chunks, 18 bytes; first: chapter 1; last: chapter 2".to_owned();
    assert_eq!(run(ChunkPolicy::Digest)[1..], [TranscriptItem::Digest { call: 1, text }, result()]);
    let text = "chapter 1\nchapter 2".to_owned();
    assert_eq!(run(ChunkPolicy::Inject)[1..], [TranscriptItem::Chunks { call: 1, chunks: (0, 2), text }, result()]);
}

#[test]
fn content_for_the_user_is_never_in_the_transcript() {
    for policy in [ChunkPolicy::UiOnly, ChunkPolicy::Digest, ChunkPolicy::Inject] {
        let all = format!("{:?}", run(policy));
        assert!(all.contains("a book"), "{all}");
        for secret in ["secret", "picture", "for you"] {
            assert!(!all.contains(secret), "{policy:?}: {all}");
        }
    }
}

#[test]
fn a_digest_is_short_for_any_number_of_chunks() {
    let transcript = Transcript::default();
    transcript.call_started(1, ChunkPolicy::Digest, "t", "{}");
    for seq in 0..500 {
        transcript.call_chunk(1, seq, &[Content::text("é".repeat(5_000))]);
    }
    transcript.call_ended(1, &[], false);
    let Some(TranscriptItem::Digest { text, .. }) = transcript.take_items().into_iter().nth(1) else {
        panic!("no digest")
    };
    assert!(text.starts_with("500 chunks") && text.len() < 600, "{text}");
}

#[test]
fn unread_chunks_and_items_are_bounded() {
    let transcript = Transcript::default();
    transcript.call_started(1, ChunkPolicy::Inject, "t", "{}");
    for seq in 0..100 {
        transcript.call_chunk(1, seq, &[Content::text("x".repeat(10_000))]);
    }
    let Some(TranscriptItem::Chunks { chunks, text, .. }) = transcript.take_items().into_iter().nth(1) else {
        panic!("no chunks")
    };
    assert_eq!(chunks.1, 99, "the newest is there");
    assert!(text.len() <= MAX_UNREAD_TEXT + 100, "{}", text.len());
    for _ in 0..MAX_ITEMS + 5 {
        transcript.push_user_text("hello");
    }
    assert_eq!((transcript.take_items().len(), transcript.dropped()), (MAX_ITEMS, 5));
}

#[tokio::test]
async fn a_scripted_model_steers_in_the_middle_of_a_call() {
    let transcript = Arc::new(Transcript::default());
    let mut model = ScriptedModel::default();
    model.add("\"chapter 2\" steer make it a comedy").unwrap();
    model.add("\"chapter 9\" cancel").unwrap();
    transcript.call_started(7, ChunkPolicy::Inject, "demo.write", "{}");
    let telling = transcript.clone();
    let teller = tokio::spawn(async move {
        for (seq, text) in ["chapter 1", "chapter 2", "chapter 3"].iter().enumerate() {
            telling.call_chunk(7, seq as u64, &[Content::text(*text)]);
            tokio::task::yield_now().await;
        }
    });
    let mut actions = Vec::new();
    while actions.is_empty() {
        actions = model.step(&transcript.next_items().await);
    }
    assert_eq!(actions, [ModelAction::Steer(7, "make it a comedy".into())]);
    teller.await.unwrap();
    transcript.call_chunk(7, 8, &[Content::text("chapter 2 again, and chapter 9")]);
    assert_eq!(model.step(&transcript.take_items()), [ModelAction::Cancel(7)], "each step happens once");
    assert!(model.is_done());
}

#[test]
fn malformed_steps_are_refused() {
    for bad in ["", "chapter steer x", "\"a\" sing", "\"\" cancel", "\"a\" steer", "\"a cancel"] {
        assert!(ScriptedModel::default().add(bad).is_err(), "{bad}");
    }
}
