//! Requests of the `dev.portcullis` extensions, which `wit/extensions` specifies.

use super::steer;
use crate::request_context::is_stateless;
use crate::reverse::live;
use crate::server_context::ServerContext;
use protocol::names::{REVERSE_LISTEN_METHOD, REVERSE_RESPOND_METHOD, STEER_METHOD};
use rmcp::ErrorData;
use rmcp::model::{CustomRequest, CustomResult, ErrorCode, ResultType};
use rmcp::service::{RequestContext, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub(crate) async fn call(
    server: &ServerContext,
    request: CustomRequest,
    context: RequestContext<RoleServer>,
) -> Result<CustomResult, ErrorData> {
    let (principal, channels) = (server.principal(&context), &server.lanes.channels);
    let mut result = match request.method.as_str() {
        REVERSE_LISTEN_METHOD => {
            live::listen(channels, &principal, params(request)?, &context, &server.stop).await?;
            json!({})
        }
        REVERSE_RESPOND_METHOD => {
            live::respond(channels, &principal, params(request)?)?;
            json!({})
        }
        STEER_METHOD => json!({ "call": steer::steer(server, &principal, params(request)?)? }),
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
    let invalid = |error| ErrorData::invalid_params(format!("`params` of {method}: {error}"), None);
    serde_json::from_value(params.unwrap_or_else(|| json!({}))).map_err(invalid)
}
