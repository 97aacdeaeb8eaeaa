//! `/health` and `/ready`, for balancers and operators.

use crate::transport::mcp_endpoint::McpEndpoint;
use crate::transport::request::lifecycle::ServerPhase;
use crate::transport::responses::response::json_response;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use platform::durable::DurableError;
use plugins::catalog::{Catalog, Missing, MissingPlugins};
use serde_json::{Map, Value, json};

/// The process is up.
pub(super) async fn health() -> Response {
    response(StatusCode::OK, &json!({ "status": "up" }))
}

/// Reports that requests are served and that all plugins are loaded that can be. Requests are also served while plugins are
/// loading, but those for these plugins wait.
pub(super) async fn ready(State(endpoint): State<McpEndpoint>) -> Response {
    let unavailable = |status: &str| response(StatusCode::SERVICE_UNAVAILABLE, &json!({ "status": status }));
    let Some(server) = endpoint.server.get() else { return unavailable("starting") };
    let catalog = server.context.catalog.snapshot();
    match endpoint.lifecycle.phase() {
        ServerPhase::Starting => unavailable("starting"),
        ServerPhase::Stopping => unavailable("stopping"),
        ServerPhase::Ready if catalog.is_loading() => unavailable("loading"),
        ServerPhase::Ready => {
            let mut status = with_missing(catalog.missing(), endpoint.tells_why);
            if !catalog.left_out().is_empty() {
                status["leftOut"] = left_out(&catalog, endpoint.tells_why);
            }
            // A load balancer that removes a host from service waits until they have ended.
            let (tasks, _) = server.context.tasks.open_count();
            if tasks > 0 {
                status["tasks"] = tasks.into();
            }
            let mut code = StatusCode::OK;
            // A full store still knows which calls it has, so no call runs twice.
            let of_calls = server.context.tasks.store_problem();
            let of_calls = of_calls.map(|error| (matches!(error, DurableError::Full(_)), error.to_string()));
            let of_plugins = server.context.runner.state_problem().map(|problem| (false, problem));
            if let Some((is_full, problem)) = of_calls.or(of_plugins) {
                if !is_full {
                    (code, status["status"]) = (StatusCode::SERVICE_UNAVAILABLE, "no-storage".into());
                }
                let why = if endpoint.tells_why { problem } else { "nothing is kept at the moment".into() };
                status["storage"] = why.into();
            }
            response(code, &status)
        }
    }
}

/// Only those who may use this server see why plugins are missing.
fn with_missing(missing: &MissingPlugins, tells_why: bool) -> Value {
    let mut status = json!({ "status": "ready" });
    if missing.is_empty() {
        return status;
    }
    status["missing"] = match tells_why {
        false => missing.len().into(),
        true => {
            let why = |missing: &Missing| match missing {
                Missing::Failed(why) => Value::from(&**why),
                Missing::Loading => Value::Null,
            };
            missing.iter().map(|(table, missing)| (table.clone(), why(missing))).collect::<Map<_, _>>().into()
        }
    };
    status
}

/// The tools of other servers that clients do not get: the reasons by server, or only their number.
fn left_out(catalog: &Catalog, tells_why: bool) -> Value {
    let all = catalog.left_out().iter();
    match tells_why {
        false => all.map(|(_, told)| told.len()).sum::<usize>().into(),
        true => all
            .map(|(server, told)| (format!("upstream.{server}"), Value::from(told.as_slice())))
            .collect::<Map<_, _>>()
            .into(),
    }
}

fn response(code: StatusCode, status: &Value) -> Response {
    let mut response = json_response(code, status.to_string());
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
