//! Requests of the `dev.portcullis` extensions, which `wit/extensions` specifies, and others that rmcp does not know.

use super::steer;
use crate::request_context::is_stateless;
use crate::reverse::live;
use crate::server_context::ServerContext;
use crate::subscriptions::task_listen::{self, LISTEN_METHOD, TaskSubscription};
use crate::unreadable::wrong_params;
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
        LISTEN_METHOD if is_stateless(&context) && task_listen::is_passed_on(&request.params) => {
            let subscription = TaskSubscription::parse(request, &context)?;
            let (key, id) = super::task_listen::run(server, &principal, subscription, &context).await?;
            json!({ "_meta": { key: id } })
        }
        STEER_METHOD => json!(steer::steer(server, &principal, params(request)?).await?),
        // rmcp passes on here also requests that it does not understand.
        _ => {
            let wrong = wrong_params(&request.method, request.params.as_ref(), is_stateless(&context));
            return Err(wrong.unwrap_or_else(|| ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)));
        }
    };
    if is_stateless(&context) {
        result["resultType"] = ResultType::COMPLETE.as_str().into();
        let mut meta = server.meta(None).0;
        meta.extend(result["_meta"].as_object().cloned().unwrap_or_default());
        result["_meta"] = Value::Object(meta);
    }
    Ok(CustomResult::new(result))
}

fn params<P: DeserializeOwned>(request: CustomRequest) -> Result<P, ErrorData> {
    let CustomRequest { method, params, .. } = request;
    let invalid = |error| ErrorData::invalid_params(format!("`params` of {method}: {error}"), None);
    serde_json::from_value(params.unwrap_or_else(|| json!({}))).map_err(invalid)
}
