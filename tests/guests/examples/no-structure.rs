//! Promises structured content and answers with none.

const PROMISE: &str = r#"{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}"#;

guests::guest! {
    list = vec![guests::tool("run", Some(PROMISE))];
    fn run(args) {
        Ok("nothing structured".to_owned().into())
    }
}
