//! A good citizen that listens while it runs: says each message that it gets as a chunk, until one says `stop`. With
//! `path` = `ask` it asks its user first, and answers with what was said to it meanwhile.

use guests::client::{self, Form};
use guests::{failed, output, steering, text};

guests::manifest!(r#"{"name":"steered","version":"0.1.0","description":"","requests":{"client":{"form":true}}}"#);

const NAME: &str = r#"{"type":"object","properties":{"name":{"type":"string"}}}"#;

guests::guest! {
    fn run(args) {
        if args.path_or("") == "ask" {
            let form =
                Form { message: "What is your name?".into(), schema: NAME.into() };
            client::elicit_form(Some("user_name"), &form).map_err(|error| failed(format!("{error:?}")))?;
            let said: Vec<String> = std::iter::from_fn(steering::next).collect();
            return Ok(said.join(", ").into());
        }
        emit("ready")?;
        let mut heard = 0;
        loop {
            match steering::next() {
                Some(message) if message == "stop" => return Ok(format!("heard {heard}").into()),
                Some(message) => {
                    heard += 1;
                    emit(&message)?;
                }
                None => std::thread::sleep(std::time::Duration::from_millis(5)),
            }
        }
    }
}

fn emit(words: &str) -> Result<(), guests::ToolError> {
    output::emit(&[text(words)]).map(|_| ()).map_err(|error| failed(format!("{error:?}")))
}
