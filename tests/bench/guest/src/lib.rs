//! A plugin with nothing to say: an echo, two compute loops, a stream of chunks and a question, written straight on the WIT so
//! that the bench measures the host and not an SDK.

mod arguments;
mod compute;
mod describe;

wit_bindgen::generate!({ world: "plugin", path: "../../../wit/v0.1" });

use arguments::{Chunks, Count, Echo, parse};
use exports::portcullis::plugin::tools::Guest;
use portcullis::plugin::types::{CallContext, Content, ContentData, Tool, ToolError, ToolResult};
use portcullis::plugin::{client, output};

struct Bench;

impl Guest for Bench {
    fn list_tools() -> Vec<Tool> {
        describe::tools()
    }

    fn call_tool(_: CallContext, name: String, arguments: String) -> Result<ToolResult, ToolError> {
        let text = match name.as_str() {
            "echo" => parse::<Echo>(&arguments)?.text,
            "fib" => {
                let n = parse::<Count>(&arguments)?.n;
                let n = u32::try_from(n).map_err(|error| ToolError::InvalidArguments(error.to_string()))?;
                compute::fib(n).to_string()
            }
            "sum" => compute::sum(parse::<Count>(&arguments)?.n).to_string(),
            "chunks" => chunks(parse(&arguments)?)?,
            "ask" => ask(parse(&arguments)?)?,
            "steps" => steps(parse(&arguments)?)?,
            other => {
                return Err(ToolError::InvalidArguments(format!("there is no tool `{other}`")));
            }
        };
        Ok(ToolResult { content: vec![content(text)], structured: None, is_error: false })
    }
}

/// Emits `n` chunks of `bytes` bytes each and says how many went out.
fn chunks(Chunks { n, bytes }: Chunks) -> Result<String, ToolError> {
    let chunk = [content("x".repeat(bytes))];
    for number in 0..n {
        match output::emit(&chunk) {
            Ok(given) if given == number => {}
            Ok(given) => {
                return Err(ToolError::Failed(format!("chunk {number} was numbered {given}")));
            }
            Err(output::OutputError::Closed) => return Err(ToolError::Cancelled),
            Err(output::OutputError::Exhausted(budget)) => {
                return Err(ToolError::Exhausted(budget));
            }
            Err(output::OutputError::Invalid(why)) => return Err(ToolError::Failed(why)),
        }
    }
    Ok(n.to_string())
}

/// Asks for an answer to a number and says both.
fn ask(Count { n }: Count) -> Result<String, ToolError> {
    let schema = r#"{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]}"#;
    let form = client::Form { message: format!("What of {n}?"), schema: schema.into() };
    match client::elicit_form(Some("answer"), &form) {
        Ok(client::FormAnswer::Accepted(answer)) => Ok(format!("{n}: {answer}")),
        other => Err(ToolError::Failed(format!("{other:?}"))),
    }
}

/// Emits `n` chunks, and then asks.
fn steps(count: Count) -> Result<String, ToolError> {
    chunks(Chunks { n: count.n, bytes: 64 })?;
    ask(count)
}

fn content(text: String) -> Content {
    Content { data: ContentData::Text(text), annotations: None }
}

const MANIFEST: &str =
    r#"{"name":"bench","version":"0.1.0","description":"Measured.","requests":{"client":{"form":true}}}"#;

/// Stamped as the SDK would.
#[used]
#[unsafe(link_section = "portcullis:manifest")]
static STAMP: [u8; MANIFEST.len()] = {
    let mut bytes = [0; MANIFEST.len()];
    bytes.copy_from_slice(MANIFEST.as_bytes());
    bytes
};

export!(Bench);
