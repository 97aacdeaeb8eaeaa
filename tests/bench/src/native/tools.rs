//! The handler: typed arguments and a fixed list of tools, without macros or a router.

use std::sync::Arc;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomNotification, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, ServerNotification, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::compute;

#[derive(Deserialize)]
struct Echo {
    text: String,
}

#[derive(Deserialize)]
struct Count {
    n: u64,
}

#[derive(Deserialize)]
struct Chunks {
    n: u64,
    bytes: usize,
}

/// The tools. Cloning is cheap: over HTTP, rmcp clones the handler for each request.
#[derive(Clone)]
pub(crate) struct Tools {
    list: Arc<Vec<Tool>>,
}

impl Tools {
    pub(crate) fn new() -> Self {
        let integer = json!({"type": "integer", "minimum": 0});
        let list = vec![
            tool("echo", "Says the text again.", json!({"text": {"type": "string", "maxLength": 1_048_576}})),
            tool("fib", "The n-th Fibonacci number, by recursion.", json!({"n": integer})),
            tool("sum", "Takes n steps through a table of 1 MiB.", json!({"n": integer})),
            tool("chunks", "Emits n chunks of the given size.", json!({"n": integer, "bytes": integer})),
        ];
        Self { list: Arc::new(list) }
    }
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.list.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments;
        let text = match &*request.name {
            "echo" => parse::<Echo>(arguments)?.text,
            "fib" => {
                let n = u32::try_from(parse::<Count>(arguments)?.n).map_err(invalid)?;
                compute::fib(n).to_string()
            }
            "sum" => compute::sum(parse::<Count>(arguments)?.n).to_string(),
            "chunks" => chunks(parse(arguments)?, &context).await?,
            other => {
                return Err(ErrorData::invalid_params(format!("there is no tool `{other}`"), None));
            }
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

/// Sends the same messages as Portcullis: one notification per chunk on the call's own stream.
async fn chunks(Chunks { n, bytes }: Chunks, context: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
    let text = "x".repeat(bytes);
    for number in 0..n {
        let params = json!({"seq": number, "content": [{"type": "text", "text": text}]});
        let notification = CustomNotification::new("notifications/dev.portcullis/partial_result", Some(params));
        context
            .peer
            .send_notification(ServerNotification::CustomNotification(notification))
            .await
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    }
    Ok(n.to_string())
}

fn parse<T: DeserializeOwned>(arguments: Option<JsonObject>) -> Result<T, ErrorData> {
    serde_json::from_value(Value::Object(arguments.unwrap_or_default())).map_err(invalid)
}

fn invalid(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}

fn tool(name: &'static str, description: &'static str, properties: Value) -> Tool {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(|object| object.keys()).collect();
    let mut schema = JsonObject::new();
    schema.insert("type".into(), "object".into());
    schema.insert("required".into(), json!(required));
    schema.insert("additionalProperties".into(), false.into());
    schema.insert("properties".into(), properties);
    Tool::new(name, description, schema)
}
