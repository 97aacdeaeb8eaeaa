//! Publishes what it may and what it may not, and says what it was told.

use guests::bindings::portcullis::plugin::publish::{
    Attributes, PublishedMessage, PublishedPrompt, append_resource, put_prompt, put_resource, remove_prompt,
    remove_resource,
};
use guests::bindings::portcullis::plugin::types::{ResourceBody, Role};

guests::manifest!(r#"{"name":"publish-all","version":"0.1.0","requests":{"publish":true}}"#);

fn attributes() -> Attributes {
    Attributes { title: None, description: None, mime_type: None, audience: vec![], priority: None, ttl_ms: None }
}

fn put(path: &str, text: &str) -> String {
    format!("{:?}", put_resource(path, &ResourceBody::Text(text.into()), &attributes()))
}

guests::guest! {
    fn run(args) {
        let message = PublishedMessage { role: Role::User, text: "Go to {{where}}".into() };
        let prompt = PublishedPrompt {
            name: "plan".into(), title: None, description: None, arguments: vec!["where".into()],
            messages: vec![message], ttl_ms: None,
        };
        let mut told = vec![
            ("put", put("report/today.txt", "one")),
            ("append", format!("{:?}", append_resource("report/today.txt", &ResourceBody::Text(" two".into())))),
            ("append-bytes", format!("{:?}", append_resource("report/today.txt", &ResourceBody::Blob(vec![1])))),
            ("escape", put("../other/secret", "x")),
            ("large", put("large", &"x".repeat((1 << 20) + 1))),
            ("priority", format!("{:?}", put_resource("p", &ResourceBody::Text(String::new()),
                &Attributes { priority: Some(7.0), audience: vec![Role::User; 1_000], ..attributes() }))),
            ("prompt", format!("{:?}", put_prompt(&prompt))),
            ("bad-prompt", format!("{:?}", put_prompt(&PublishedPrompt { name: "a b".into(), ..prompt }))),
            ("nothing", format!("{:?}", remove_resource("nothing"))),
            ("no-prompt", format!("{:?}", remove_prompt("nothing"))),
        ];
        let refused = (0..args.n_or(0)).map(|_| put("again", "x")).find(|told| told.starts_with("Err"));
        told.extend(refused.map(|refused| ("flood", refused)));
        Ok(told.into_iter().map(|(what, told)| format!("{what}: {told}\n")).collect::<String>().into())
    }
}
