//! Promises a boolean and answers with a number.

const PROMISE: &str = r#"{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}"#;

guests::guest! {
    list = vec![guests::tool("run", Some(PROMISE))];
    fn run(args) {
        guests::structured(r#"{"ok": 1}"#)
    }
}
