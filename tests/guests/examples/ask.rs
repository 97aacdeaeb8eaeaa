//! Asks whatever `path` names, in straight-line code, and says what was answered. What it does for good, once everything
//! is answered, is one line at the end of `/work/effects`.

use guests::client::{self, Answer, ClientError, Consent, Form, FormAnswer, KeyedQuestion, Question, SampleContent};
use guests::{Outcome, ToolError, failed, text};
use std::io::Write as _;

guests::manifest!(
    r#"{"name":"ask","version":"0.1.0","description":"","requests":{"filesystem":"write","client":{"form":true,"url":true,"sample":true,"roots":true}}}"#
);

guests::guest! {
    fn run(args) {
        let said = match args.path_or("form").as_str() {
            "form" => form("user_name", "What is your name?", NAME)?,
            "number" => {
                let n = args.n_or(0);
                format!("{n}: {}", form("user_name", &format!("Who has number {n}?"), NAME)?)
            }
            "fields" => form("trip", "Where to?", FIELDS)?,
            "nights" => form("nights", "How long?", NIGHTS)?,
            "rounds" => {
                let rounds = args.n_or(2);
                let mut said = Vec::new();
                for round in 0..rounds {
                    said.push(form(&format!("step{round}"), &format!("Step {round}?"), NAME)?);
                }
                effect()?;
                said.join(", ")
            }
            "confirm" => {
                let said = form("confirm", "Really?", r#"{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}"#)?;
                if said.contains("true") {
                    effect()?;
                }
                said
            }
            "many" => many()?,
            page if page.starts_with("url") => {
                let address = page.strip_prefix("url ").unwrap_or("https://example.com/page?q=1").to_owned();
                let url = client::Url { message: "Look".into(), target: client::UrlTarget::Address(address) };
                match client::elicit_url(Some("page"), &url).map_err(why)? {
                    Consent::Accepted => "accepted".into(),
                    Consent::Declined => "declined".into(),
                    Consent::Cancelled => "cancelled".into(),
                }
            }
            "sample" => model(client::sample(Some("capital"), &question()).map_err(why)?.content),
            "samples" => {
                let samples = (0..args.n_or(2)).map(|_| Ok(model(client::sample(None, &question()).map_err(why)?.content)));
                samples.collect::<Result<Vec<_>, ToolError>>()?.join(", ")
            }
            "tools" => with_tools()?,
            "roots" => roots(client::list_roots(None).map_err(why)?),
            "secret" => form("x", "Your key?", r#"{"type":"object","properties":{"api_key":{"type":"string"}}}"#)?,
            "nested" => form("x", "Nested?", r#"{"type":"object","properties":{"a":{"type":"object"}}}"#)?,
            "chunks" => {
                guests::output::emit(&[text("before")]).map_err(|error| failed(format!("{error:?}")))?;
                let said = form("user_name", "What is your name?", NAME)?;
                guests::output::emit(&[text("after")]).map_err(|error| failed(format!("{error:?}")))?;
                said
            }
            "spin" => {
                form("user_name", "What is your name?", NAME)?;
                loop {
                    std::hint::black_box(());
                }
            }
            "supported" => format!("{:?}", client::supported()),
            other => return Err(failed(format!("nothing called {other}"))),
        };
        Outcome::Ok(said.into())
    }
}

const NAME: &str = r#"{"type":"object","properties":{"name":{"type":"string","minLength":1}},"required":["name"]}"#;

const NIGHTS: &str = r#"{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}"#;

/// Fields of every kind, in an order that no sorting gives.
const FIELDS: &str = r#"{"type":"object","title":"Trip","properties":{
    "to":{"type":"string","title":"To","enum":["Rome","Oslo"]},
    "name":{"type":"string","description":"As in the passport","minLength":1,"maxLength":40},
    "mail":{"type":"string","format":"email"},
    "class":{"type":"string","oneOf":[{"const":"b","title":"Business"},{"const":"e","title":"Economy"}],"default":"e"},
    "adults":{"type":"integer","minimum":1,"maximum":9,"default":1},
    "budget":{"type":"number","minimum":0},
    "extras":{"type":"array","items":{"type":"string","enum":["seat","meal"]},"maxItems":2},
    "agree":{"type":"boolean","default":false}
},"required":["to","name","agree"]}"#;

fn form(key: &str, message: &str, schema: &str) -> Result<String, ToolError> {
    let form = Form { message: message.into(), schema: schema.into() };
    Ok(said(client::elicit_form(Some(key), &form).map_err(why)?))
}

fn said(answer: FormAnswer) -> String {
    match answer {
        FormAnswer::Accepted(content) => content,
        FormAnswer::Declined => "declined".into(),
        FormAnswer::Cancelled => "cancelled".into(),
    }
}

fn question() -> client::SampleRequest {
    client::SampleRequest {
        messages: vec![client::SampleMessage {
            role: guests::Role::User,
            content: vec![SampleContent::Text("What is the capital of France?".into())],
        }],
        system_prompt: None,
        max_tokens: 100,
        temperature: None,
        stop_sequences: vec![],
        model: client::ModelPreferences { hints: vec![], cost: None, speed: None, intelligence: None },
        tools: vec![],
        tool_choice: None,
        purpose: None,
    }
}

/// A model that uses a tool: runs it and asks again.
fn with_tools() -> Result<String, ToolError> {
    let mut request = question();
    request.tools.push(client::SampleTool {
        name: "capital_of".into(),
        description: None,
        input_schema: r#"{"type":"object","properties":{"country":{"type":"string"}}}"#.into(),
    });
    let answer = client::sample(None, &request).map_err(why)?;
    let Some(SampleContent::ToolUse(used)) = answer.content.first().cloned() else { return Ok(model(answer.content)) };
    let outcome = client::ToolOutcome {
        id: used.id,
        content: vec![text(format!("the capital for {}", used.input))],
        structured: None,
        is_error: false,
    };
    request.messages.push(client::SampleMessage { role: guests::Role::Assistant, content: answer.content });
    request
        .messages
        .push(client::SampleMessage { role: guests::Role::User, content: vec![SampleContent::ToolResult(outcome)] });
    let answer = client::sample(None, &request).map_err(why)?;
    Ok(format!("{} {:?}", model(answer.content), answer.stop_reason))
}

fn model(content: Vec<SampleContent>) -> String {
    match content.into_iter().next() {
        Some(SampleContent::Text(text)) => text,
        other => format!("{other:?}"),
    }
}

fn roots(roots: Vec<client::Root>) -> String {
    roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join(" ")
}

fn many() -> Result<String, ToolError> {
    let ask = |key: &str, question| KeyedQuestion { key: key.into(), question };
    let name = Form { message: "What is your name?".into(), schema: NAME.into() };
    let questions = [
        ask("user_name", Question::Form(name)),
        ask("capital", Question::Sample(question())),
        ask("roots", Question::Roots),
    ];
    let answers = client::ask_many(&questions).map_err(why)?;
    let words = answers.into_iter().map(|answer| match answer {
        Answer::Form(answer) => said(answer),
        Answer::Url(consent) => format!("{consent:?}"),
        Answer::Sample(answer) => model(answer.content),
        Answer::Roots(list) => roots(list),
    });
    Ok(words.collect::<Vec<_>>().join(" | "))
}

fn effect() -> Result<(), ToolError> {
    let file = std::fs::OpenOptions::new().create(true).append(true).open("/work/effects");
    file.and_then(|mut file| file.write_all(b"done\n")).map_err(failed)
}

fn why(error: ClientError) -> ToolError {
    match error {
        ClientError::Unsupported(what) => ToolError::Unsupported(what),
        ClientError::Denied(denial) => ToolError::Denied(denial),
        ClientError::Exhausted(exhaustion) => ToolError::Exhausted(exhaustion),
        ClientError::Cancelled => ToolError::Cancelled,
        other => failed(format!("{other:?}")),
    }
}
