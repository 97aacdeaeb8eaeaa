//! Who answers: user, model and workspace, by the script of the call that is running.

use rmcp::ClientHandler;
use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, Implementation, ListRootsResult, ProgressNotificationParam, RequestMetaObject,
    Root, SamplingMessage,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// What happened in one call.
#[derive(Default)]
pub(crate) struct Call {
    script: Value,
    heard: Mutex<(Vec<Value>, Vec<Value>)>,
    reports: Notify,
    pub(crate) asked: Notify,
    pub(crate) answered: Notify,
    pub(crate) withdrawn: Notify,
}

impl Call {
    /// Questions and progress so far.
    pub(crate) fn heard(&self) -> (Value, Value) {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        (json!(heard.0), json!(heard.1))
    }

    /// Waits until so much progress was heard.
    pub(crate) async fn reported(&self, reports: usize) {
        while self.heard.lock().unwrap_or_else(PoisonError::into_inner).1.len() < reports {
            self.reports.notified().await;
        }
    }

    fn hear(&self, note: impl FnOnce(&mut (Vec<Value>, Vec<Value>))) {
        note(&mut self.heard.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Answers one call at a time.
pub(crate) struct Person {
    able: bool,
    call: Mutex<Arc<Call>>,
}

impl Person {
    pub(crate) fn new(able: bool) -> Self {
        Self { able, call: Mutex::default() }
    }

    pub(crate) fn begin(&self, script: &Value) -> Arc<Call> {
        let call = Arc::new(Call { script: script.clone(), ..Call::default() });
        *self.call.lock().unwrap_or_else(PoisonError::into_inner) = call.clone();
        call
    }

    fn call(&self) -> Arc<Call> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes a question and says whether the user agrees.
    async fn hear(
        &self,
        method: &str,
        mut params: Value,
        fields: Vec<String>,
        context: &RequestContext<RoleClient>,
    ) -> bool {
        // The client takes what the question says of itself out of its parameters.
        if context.meta != RequestMetaObject::default() {
            params["_meta"] = json!(context.meta);
        }
        let call = self.call();
        call.hear(|heard| heard.0.push(json!({"method": method, "params": params, "fields": fields})));
        call.asked.notify_one();
        if call.script["answer"] == "never" {
            // Whichever comes first: the server takes the question back, or the client lets the call go.
            let _gone = Gone(call.clone());
            context.ct.cancelled().await;
        }
        call.answered.notify_one();
        call.script["answer"] != "decline"
    }
}

/// Says that a question is not open any more.
struct Gone(Arc<Call>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.withdrawn.notify_one();
    }
}

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let capabilities = match self.able {
            true => json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}}),
            false => json!({}),
        };
        let capabilities: ClientCapabilities = serde_json::from_value(capabilities).unwrap_or_default();
        ClientConfig::new(capabilities, Implementation::new("portcullis-suite", "0"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let fields = match &request {
            ElicitRequestParams::FormElicitationParams { requested_schema, .. } => {
                requested_schema.property_order.clone().unwrap_or_default()
            }
            _ => vec![],
        };
        let agrees = self.hear("elicitation/create", json!(request), fields, &context).await;
        Ok(match request {
            _ if !agrees => ElicitResult::new(ElicitationAction::Decline),
            ElicitRequestParams::FormElicitationParams { .. } => {
                ElicitResult::new(ElicitationAction::Accept).with_content(self.call().script["content"].clone())
            }
            _ => ElicitResult::new(ElicitationAction::Accept),
        })
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.hear("sampling/createMessage", json!(params), vec![], &context).await;
        let mut said = CreateMessageResult::new(SamplingMessage::assistant_text("Paris"), "script".into());
        said.stop_reason = Some(CreateMessageResult::STOP_REASON_END_TURN.into());
        Ok(said)
    }

    async fn list_roots(&self, context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        self.hear("roots/list", json!({}), vec![], &context).await;
        Ok(ListRootsResult::new(vec![Root::new("file:///repo").with_name("repo")]))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        let call = self.call();
        call.hear(|heard| heard.1.push(json!(params.message)));
        call.reports.notify_one();
    }
}
