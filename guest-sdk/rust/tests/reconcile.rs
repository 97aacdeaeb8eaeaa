//! A plugin that finds out about its requests, against the fake host.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use portcullis_guest::reconcile::{AgentCall, Answer, Effect, Verdict};
use portcullis_guest::{Content, ToolResult, testing};
use serde_json::json;

#[portcullis_guest::plugin(name = "booker", description = "Books.")]
mod booker {
    use portcullis_guest::reconcile::{Doubt, Effect, Verdict};
    use portcullis_guest::{Content, ToolResult};

    /// Books a place.
    #[tool]
    fn book(name: String) -> String {
        name
    }

    #[reconcile]
    fn find_out(doubt: &Doubt<'_>) -> Verdict {
        match (doubt.effect, doubt.tool) {
            (Effect::AgentTool(call), "book") => {
                let name = doubt.arguments::<serde_json::Value>().map(|it| it["name"].to_string());
                Verdict::from(ToolResult::from(vec![Content::text(format!(
                    "{} {}",
                    call.name,
                    name.unwrap_or_default()
                ))]))
            }
            (Effect::Other, _) => Verdict::NotDone,
            _ => Verdict::Unknown,
        }
    }
}

#[portcullis_guest::plugin(name = "other", description = "Books, too.")]
mod other {
    /// Books a place.
    #[tool]
    fn book(name: String) -> String {
        name
    }
}

#[test]
fn the_marked_function_is_asked() {
    let ask = |tool, effect: &Effect| testing::reconcile(&booker::PLUGIN, tool, json!({"name": "Ada"}), effect);
    let call = Effect::AgentTool(AgentCall { name: "notes.add".into(), arguments: "{}".into() });
    let told = ToolResult::from(vec![Content::text(r#"notes.add "Ada""#)]);
    assert_eq!(ask("book", &call), Verdict::Done(Answer::AgentTool(told)));
    assert_eq!((ask("other", &call), ask("book", &Effect::Other)), (Verdict::Unknown, Verdict::NotDone));
    assert_eq!(testing::reconcile(&other::PLUGIN, "book", json!({}), &Effect::Other), Verdict::Unknown);
}
