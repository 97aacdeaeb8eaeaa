//! Policies decide what a model sees; what is for the user alone it never does.

use super::*;
use runtime::imports::Annotations;
use std::sync::Arc;

fn for_user(text: &str) -> Content {
    Content {
        annotations: Some(Annotations { audience: vec![Role::User], ..Annotations::default() }),
        ..Content::text(text)
    }
}

fn run(policy: ChunkPolicy) -> Vec<Item> {
    let transcript = Transcript::default();
    transcript.started(1, policy, "demo.write", "{}");
    transcript.chunk(1, 0, &[Content::text("chapter 1")]);
    transcript.chunk(1, 1, &[for_user("a secret of the user")]);
    transcript.chunk(1, 2, &[Content::text("chapter 2"), for_user("a picture")]);
    transcript.ended(1, &[Content::text("a book"), for_user("for you")], false);
    transcript.take()
}

fn result() -> Item {
    Item::Result { call: 1, text: "a book".into(), is_error: false }
}

#[test]
fn each_policy_shows_what_it_says() {
    assert_eq!(run(ChunkPolicy::UiOnly)[1..], [result()]);
    let text = "2 chunks, 18 bytes; first: chapter 1; last: chapter 2".to_owned();
    assert_eq!(run(ChunkPolicy::Digest)[1..], [Item::Digest { call: 1, text }, result()]);
    let text = "chapter 1\nchapter 2".to_owned();
    assert_eq!(run(ChunkPolicy::Inject)[1..], [Item::Interim { call: 1, chunks: (0, 2), text }, result()]);
}

#[test]
fn what_is_for_the_user_is_never_in_the_transcript() {
    for policy in [ChunkPolicy::UiOnly, ChunkPolicy::Digest, ChunkPolicy::Inject] {
        let all = format!("{:?}", run(policy));
        assert!(all.contains("a book"), "{all}");
        for secret in ["secret", "picture", "for you"] {
            assert!(!all.contains(secret), "{policy:?}: {all}");
        }
    }
}

#[test]
fn a_digest_is_short_however_much_there_was() {
    let transcript = Transcript::default();
    transcript.started(1, ChunkPolicy::Digest, "t", "{}");
    for seq in 0..500 {
        transcript.chunk(1, seq, &[Content::text("é".repeat(5_000))]);
    }
    transcript.ended(1, &[], false);
    let Some(Item::Digest { text, .. }) = transcript.take().into_iter().nth(1) else { panic!("no digest") };
    assert!(text.starts_with("500 chunks") && text.len() < 600, "{text}");
}

#[test]
fn chunks_and_items_that_nobody_reads_are_bounded() {
    let transcript = Transcript::default();
    transcript.started(1, ChunkPolicy::Inject, "t", "{}");
    for seq in 0..100 {
        transcript.chunk(1, seq, &[Content::text("x".repeat(10_000))]);
    }
    let Some(Item::Interim { chunks, text, .. }) = transcript.take().into_iter().nth(1) else { panic!("no chunks") };
    assert_eq!(chunks.1, 99, "the newest is there");
    assert!(text.len() <= MAX_INTERIM + 100, "{}", text.len());
    for _ in 0..MAX_ITEMS + 5 {
        transcript.said("hello");
    }
    assert_eq!((transcript.take().len(), transcript.dropped()), (MAX_ITEMS, 5));
}

#[tokio::test]
async fn a_scripted_model_steers_in_the_middle_of_a_call() {
    let transcript = Arc::new(Transcript::default());
    let mut model = ScriptedModel::default();
    model.add("\"chapter 2\" steer make it a comedy").unwrap();
    model.add("\"chapter 9\" cancel").unwrap();
    transcript.started(7, ChunkPolicy::Inject, "demo.write", "{}");
    let telling = transcript.clone();
    let teller = tokio::spawn(async move {
        for (seq, text) in ["chapter 1", "chapter 2", "chapter 3"].iter().enumerate() {
            telling.chunk(7, seq as u64, &[Content::text(*text)]);
            tokio::task::yield_now().await;
        }
    });
    let mut acts = Vec::new();
    while acts.is_empty() {
        acts = model.step(&transcript.step().await);
    }
    assert_eq!(acts, [Act::Steer(7, "make it a comedy".into())]);
    teller.await.unwrap();
    transcript.chunk(7, 8, &[Content::text("chapter 2 again, and chapter 9")]);
    assert_eq!(model.step(&transcript.take()), [Act::Cancel(7)], "each step happens once");
    assert!(model.is_done());
}

#[test]
fn steps_that_mean_nothing_are_refused() {
    for bad in ["", "chapter steer x", "\"a\" sing", "\"\" cancel", "\"a\" steer", "\"a cancel"] {
        assert!(ScriptedModel::default().add(bad).is_err(), "{bad}");
    }
}
