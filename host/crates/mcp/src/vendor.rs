//! Requests that the protocol does not have: `wit/extensions`.

use super::reverse::live;
use super::round::is_stateless;
use super::server::Shared;
use super::steer;
use rmcp::ErrorData;
use rmcp::model::{CustomRequest, CustomResult, ErrorCode, ResultType};
use rmcp::service::{RequestContext, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Opens a channel for reverse calls and lasts as long as the client likes.
pub(super) const LISTEN: &str = "dev.portcullis/reverse/listen";
/// Answers a reverse call.
const RESPOND: &str = "dev.portcullis/reverse/respond";
/// Says something to a running call.
const STEER: &str = "dev.portcullis/steer";

pub(super) async fn call(
    server: &Shared,
    request: CustomRequest,
    context: RequestContext<RoleServer>,
) -> Result<CustomResult, ErrorData> {
    let mut result = match request.method.as_str() {
        LISTEN => live::listen(server, params(request)?, &context).await.map(|()| json!({}))?,
        RESPOND => live::respond(server, params(request)?, &context).map(|()| json!({}))?,
        STEER => {
            steer::say(server, &server.principal(&context), params(request)?).map(|call| json!({ "call": call }))?
        }
        _ => return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)),
    };
    if is_stateless(&context) {
        result["resultType"] = ResultType::COMPLETE.as_str().into();
        result["_meta"] = Value::Object(server.meta(None).0);
    }
    Ok(CustomResult::new(result))
}

fn params<P: DeserializeOwned>(request: CustomRequest) -> Result<P, ErrorData> {
    let CustomRequest { method, params, .. } = request;
    let wrong = |error| ErrorData::invalid_params(format!("`params` of {method}: {error}"), None);
    serde_json::from_value(params.unwrap_or_else(|| json!({}))).map_err(wrong)
}
