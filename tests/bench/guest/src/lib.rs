//! A plugin with nothing to say: an echo, two compute loops and a stream of chunks, written straight on the WIT so that
//! the bench measures the host and not an SDK.

mod arguments;
mod compute;
mod describe;

wit_bindgen::generate!({ world: "plugin", path: "../../../wit/v0.1" });

use arguments::{Chunks, Count, Echo, parse};
use exports::portcullis::plugin::tools::Guest;
use portcullis::plugin::output;
use portcullis::plugin::types::{CallContext, Content, ContentData, Tool, ToolError, ToolResult};

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

fn content(text: String) -> Content {
    Content { data: ContentData::Text(text), annotations: None }
}

export!(Bench);
