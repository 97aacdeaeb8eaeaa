//! The client's requests on live channels: open one, and answer a call.

use super::channels::LiveChannels;
use policy::Principal;
use protocol::names::REVERSE_LISTENING_NOTIFICATION;
use rmcp::ErrorData;
use rmcp::model::{CustomNotification, ServerNotification};
use rmcp::service::{OriginatingRequestId, RequestContext, RoleServer, ServiceError};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Parameters of `dev.portcullis/reverse/listen`.
#[derive(Deserialize)]
pub(crate) struct ListenParams {
    channel: String,
}

/// Parameters of `dev.portcullis/reverse/respond`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RespondParams {
    channel: String,
    call_id: String,
    result: Option<Value>,
    error: Option<Value>,
}

/// Serves `dev.portcullis/reverse/listen` until the client disconnects or the server stops.
pub(crate) async fn listen(
    channels: &LiveChannels,
    principal: &Principal,
    params: ListenParams,
    context: &RequestContext<RoleServer>,
    stop: &CancellationToken,
) -> Result<(), ErrorData> {
    let stream = channels.open(principal, &params.channel)?;
    let send = async |method: &str, params: Value| {
        let mut notification = CustomNotification::new(method, Some(params));
        notification.extensions.insert(OriginatingRequestId(context.id.clone()));
        context.peer.send_notification(ServerNotification::CustomNotification(notification)).await
    };
    let forward = async {
        send(REVERSE_LISTENING_NOTIFICATION, json!({ "channel": stream.name() })).await?;
        loop {
            let (method, params) = stream.next().await;
            send(method, params).await?;
        }
    };
    let broken: Result<(), ServiceError> = tokio::select! {
        broken = forward => broken,
        () = context.ct.cancelled() => Ok(()),
        () = stop.cancelled() => Ok(()),
    };
    if let Err(error) = broken {
        tracing::debug!(%error, "a channel for reverse calls broke");
    }
    Ok(())
}

/// Handles `dev.portcullis/reverse/respond`: delivers the outcome of a call.
pub(crate) fn respond(channels: &LiveChannels, principal: &Principal, params: RespondParams) -> Result<(), ErrorData> {
    let RespondParams { channel, call_id, result, error } = params;
    let outcome = match (result, error) {
        (Some(result @ Value::Object(_)), None) => result,
        (None, Some(error @ Value::Object(_))) => json!({ "error": error }),
        _ => {
            let text = "an answer needs either `result`, the tool's result, or `error`; each an object";
            return Err(ErrorData::invalid_params(text, None));
        }
    };
    channels.answer(principal, &channel, &call_id, outcome)
}
