//! A good citizen: says its arguments again.

guests::guest! {
    fn run(args) {
        let echoed = serde_json::json!({ "n": args.n, "path": args.path });
        Ok(guests::ToolResult { structured: Some(echoed.to_string()), ..echoed.to_string().into() })
    }
}
