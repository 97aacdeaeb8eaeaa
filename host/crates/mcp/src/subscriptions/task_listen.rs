//! `subscriptions/listen` with `taskIds`, for which rmcp's filter has no field. The transport renames the filter of such a
//! request, so that rmcp passes it on as one that it does not know; all of it is served here.

use super::listen::accept_filter;
use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, ClientRequest, CustomNotification, CustomRequest, DetailedTask, ServerNotification,
    SubscriptionFilter,
};
use rmcp::service::{OriginatingRequestId, RequestContext, RoleServer, ServiceError};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

pub(crate) const LISTEN_METHOD: &str = "subscriptions/listen";
/// The field of a filter that names tasks.
const TASK_IDS: &str = "taskIds";
/// The name under which the filter of such a request is passed on.
const PASSED_ON: &str = "dev.portcullis/notifications";
/// The key in `_meta` under which a notification names its subscription.
const SUBSCRIPTION_META: &str = "io.modelcontextprotocol/subscriptionId";
/// Tasks of one subscription. Bounds its memory and its work for every change.
const MAX_TASKS: usize = 256;
/// Bytes of an id. No task has a longer one.
const MAX_ID: usize = 128;

/// What a client wants to be notified of.
pub(crate) struct TaskSubscription {
    pub(crate) filter: SubscriptionFilter,
    /// The ids of the tasks, each only once. Whether the tasks exist is not checked here, since a client must not learn what
    /// others have.
    pub(crate) tasks: Vec<String>,
}

/// Renames the filter of a listen request that names tasks, so that rmcp passes the request on. None for any other message.
pub(crate) fn pass_on(message: &[u8]) -> Option<Vec<u8>> {
    memchr::memmem::find(message, TASK_IDS.as_bytes())?;
    let mut message: Map<String, Value> = serde_json::from_slice(message).ok()?;
    if message.get("method").and_then(Value::as_str) != Some(LISTEN_METHOD) {
        return None;
    }
    let params = message.get_mut("params")?.as_object_mut()?;
    params.get("notifications")?.get(TASK_IDS)?;
    let filter = params.remove("notifications")?;
    params.insert(PASSED_ON.to_owned(), filter);
    serde_json::to_vec(&message).ok()
}

/// Whether these are the parameters of a request that [`pass_on`] has made.
pub(crate) fn is_passed_on(params: &Option<Value>) -> bool {
    params.as_ref().is_some_and(|params| params.get(PASSED_ON).is_some())
}

/// Whether a request is a subscription, passed on or not.
pub(crate) fn is_subscription(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::SubscriptionsListenRequest(_) => true,
        ClientRequest::CustomRequest(custom) => custom.method == LISTEN_METHOD,
        _ => false,
    }
}

impl TaskSubscription {
    pub(crate) fn parse(request: CustomRequest, context: &RequestContext<RoleServer>) -> Result<Self, ErrorData> {
        let declared = context.client_capabilities().is_some_and(|declared| declared.supports_tasks());
        if !declared {
            let required = ClientCapabilities::builder().enable_tasks().build();
            return Err(ErrorData::missing_required_client_capability(required));
        }
        Self::from_params(request.params.unwrap_or_default())
    }

    fn from_params(mut params: Value) -> Result<Self, ErrorData> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct TaskFilter {
            task_ids: Vec<String>,
        }
        let invalid = |error: serde_json::Error| {
            ErrorData::invalid_params(format!("`params.notifications` of {LISTEN_METHOD}: {error}"), None)
        };
        let filter = params.get_mut(PASSED_ON).map(Value::take).unwrap_or_default();
        let TaskFilter { task_ids } = TaskFilter::deserialize(&filter).map_err(invalid)?;
        let filter = SubscriptionFilter::deserialize(&filter).map_err(invalid)?;
        let mut seen = HashSet::new();
        let new = |id: &String| id.len() <= MAX_ID && seen.len() < MAX_TASKS && seen.insert(id.clone());
        Ok(Self { filter: accept_filter(&filter), tasks: task_ids.into_iter().filter(new).collect() })
    }
}

/// Sends the notifications of one subscription.
pub(crate) struct TaskNotifier<'a>(pub(crate) &'a RequestContext<RoleServer>);

impl TaskNotifier<'_> {
    pub(crate) async fn acknowledge(&self, accepted: &TaskSubscription, tasks: &[String]) -> Result<(), ServiceError> {
        let mut filter = serde_json::to_value(&accepted.filter).unwrap_or_default();
        filter[TASK_IDS] = tasks.into();
        self.send("notifications/subscriptions/acknowledged", json!({ "notifications": filter })).await
    }

    pub(crate) async fn list_changed(&self, what: &str) -> Result<(), ServiceError> {
        self.send(&format!("notifications/{what}/list_changed"), json!({})).await
    }

    pub(crate) async fn resource_updated(&self, uri: &str) -> Result<(), ServiceError> {
        self.send("notifications/resources/updated", json!({ "uri": uri })).await
    }

    /// Sends the state of a task, in the form of `tasks/get` and with the same `_meta`.
    pub(crate) async fn task(&self, (task, meta): (DetailedTask, Option<(String, Value)>)) -> Result<(), ServiceError> {
        let mut params = serde_json::to_value(task).unwrap_or_default();
        if let Some((name, value)) = meta {
            params["_meta"] = json!({ name: value });
        }
        self.send("notifications/tasks", params).await
    }

    async fn send(&self, method: &str, mut params: Value) -> Result<(), ServiceError> {
        params["_meta"][SUBSCRIPTION_META] = json!(self.0.id);
        let mut notification = CustomNotification::new(method, Some(params));
        notification.extensions.insert(OriginatingRequestId(self.0.id.clone()));
        self.0.peer.send_notification(ServerNotification::CustomNotification(notification)).await
    }

    /// `_meta` of the result that ends the subscription.
    pub(crate) fn end_meta(&self) -> (String, Value) {
        (SUBSCRIPTION_META.to_owned(), json!(self.0.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_listen_request_that_names_tasks_is_passed_on() {
        let message = |method: &str, filter: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{"notifications":{filter},"_meta":{{"a":1}}}}}}"#
            )
        };
        let listen = message(LISTEN_METHOD, r#"{"taskIds":["t"],"toolsListChanged":true}"#);
        let passed: Value = serde_json::from_slice(&pass_on(listen.as_bytes()).unwrap()).unwrap();
        assert_eq!(
            (&passed["method"], &passed["id"], &passed["params"]["_meta"]["a"]),
            (&json!(LISTEN_METHOD), &json!(7), &json!(1))
        );
        assert_eq!(passed["params"].get("notifications"), None);
        let parsed: ClientRequest = serde_json::from_slice(&pass_on(listen.as_bytes()).unwrap()).unwrap();
        assert!(is_subscription(&parsed) && is_passed_on(&Some(passed["params"].clone())));
        assert!(matches!(parsed, ClientRequest::CustomRequest(_)), "{parsed:?}");
        let subscription = TaskSubscription::from_params(passed["params"].clone()).unwrap();
        assert_eq!((subscription.tasks.len(), subscription.filter.tools_list_changed), (1, Some(true)));
        for other in [
            message("tools/list", r#"{"taskIds":["t"]}"#),
            message(LISTEN_METHOD, "{}"),
            message(LISTEN_METHOD, r#"{"resourceSubscriptions":["taskIds"]}"#),
            "taskIds".into(),
            r#"["taskIds"]"#.into(),
        ] {
            assert!(pass_on(other.as_bytes()).is_none(), "{other}");
        }
    }

    #[test]
    fn a_filter_is_cut_to_what_is_kept_and_must_have_the_right_shape() {
        let parse = |filter: Value| TaskSubscription::from_params(json!({ PASSED_ON: filter }));
        let ids: Vec<String> = (0..400).map(|n| format!("t{}", n % 300)).chain(["x".repeat(500)]).collect();
        assert_eq!(parse(json!({ "taskIds": ids })).unwrap().tasks.len(), MAX_TASKS);
        for bad in
            [json!({ "taskIds": "t" }), json!({ "taskIds": [1] }), json!({ "taskIds": [], "toolsListChanged": 7 })]
        {
            assert_eq!(parse(bad).err().unwrap().code.0, -32602);
        }
    }
}
