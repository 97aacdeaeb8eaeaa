//! A client with a calendar, and with a model that can stand in for one.

use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, CreateMessageRequestParams, CreateMessageResult,
    CustomNotification, CustomRequest, CustomResult, ErrorCode, Implementation,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleClient};
use rmcp::{ClientHandler, ErrorData};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The extension.
pub(crate) const EXTENSION: &str = "dev.portcullis/client-tools";
/// The name of the open request; no secret, since nobody else is there.
const CHANNEL: &str = "the-channel-of-the-planning-client";

/// How often what was wanted.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) served: BTreeMap<String, u64>,
    pub(crate) asked: BTreeMap<String, u64>,
}

/// What the handler and whoever makes the call share.
#[derive(Default)]
pub(crate) struct Calendar {
    counts: Mutex<Counts>,
    pub(crate) listening: Notify,
}

impl Calendar {
    pub(crate) fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What one of the tools answers.
    pub(crate) fn answer(&self, name: &str, arguments: &Value) -> Option<Value> {
        let text = |key: &str| arguments[key].as_str();
        let day = text("day")?;
        let answer = match name {
            "calendar.free_slots" => {
                let of_month: u32 = day.get(8..)?.parse().ok()?;
                let free = (9..=16).filter(|hour| (of_month * 5 + hour) % 4 == 0);
                json!({"day": day, "slots": free.map(|hour| format!("{hour:02}:00")).collect::<Vec<_>>()})
            }
            "calendar.create_event" => {
                let (start, title) = (text("start")?, text("title")?);
                json!({"id": format!("{day}-{}", start.get(..2)?), "day": day, "start": start, "title": title})
            }
            _ => return None,
        };
        *self.counts().served.entry(name.to_owned()).or_default() += 1;
        Some(answer)
    }

    /// The outcome of a call as the extension describes it.
    pub(crate) fn outcome(&self, call: &Value) -> Value {
        match self.answer(call["name"].as_str().unwrap_or_default(), &call["arguments"]) {
            Some(answer) => {
                json!({"content": [{"type": "text", "text": answer.to_string()}], "structuredContent": answer})
            }
            None => json!({"error": {"code": "unknown-tool", "message": "this calendar has no such tool"}}),
        }
    }
}

/// Answers the server.
pub(crate) struct Agent {
    pub(crate) calendar: Arc<Calendar>,
    /// `live`, `retry` or `request`; anything else declares nothing.
    pub(crate) lane: String,
}

/// Opens the lane `live` and says so once it is open. The request lasts as long as the connection.
pub(crate) async fn listen(peer: &Peer<RoleClient>, calendar: &Calendar) {
    let request = CustomRequest::new("dev.portcullis/reverse/listen", Some(json!({"channel": CHANNEL})));
    let peer = peer.clone();
    tokio::spawn(async move { peer.send_request(ClientRequest::CustomRequest(request)).await });
    calendar.listening.notified().await;
}

impl ClientHandler for Agent {
    fn get_info(&self) -> ClientConfig {
        let text = || json!({"type": "string"});
        let slots = json!({"type": "object", "properties": {"day": text()}, "required": ["day"]});
        let properties = json!({"day": text(), "start": text(), "title": text()});
        let event = json!({"type": "object", "properties": properties, "required": ["day", "start", "title"]});
        let tools = json!([
            {"name": "calendar.free_slots", "description": "Free hours of one day.", "inputSchema": slots},
            {"name": "calendar.create_event", "description": "Puts an event into the calendar.", "inputSchema": event},
        ]);
        let mut capabilities = json!({"sampling": {"tools": {}}});
        if ["live", "retry", "request"].contains(&self.lane.as_str()) {
            let mut declaration = json!({"allowServerCalls": true, "tools": tools, "lanes": [self.lane]});
            if self.lane == "live" {
                declaration["channel"] = CHANNEL.into();
            }
            capabilities["extensions"] = json!({EXTENSION: declaration});
        }
        let capabilities: ClientCapabilities = serde_json::from_value(capabilities).unwrap_or_default();
        ClientConfig::new(capabilities, Implementation::new("portcullis-suite", "0"))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != "dev.portcullis/tools/call" {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None));
        }
        let outcome = self.calendar.outcome(&request.params.unwrap_or_default());
        match outcome.get("error") {
            Some(error) => Err(ErrorData::new(ErrorCode(-32000), "refused", Some(json!({"code": error["code"]})))),
            None => Ok(CustomResult::new(outcome)),
        }
    }

    async fn on_custom_notification(&self, notification: CustomNotification, context: NotificationContext<RoleClient>) {
        match notification.method.as_str() {
            "notifications/dev.portcullis/reverse_listening" => self.calendar.listening.notify_one(),
            "notifications/dev.portcullis/reverse_call" => {
                let call = notification.params.unwrap_or_default();
                let result = self.calendar.outcome(&call);
                let params = json!({"channel": CHANNEL, "callId": call["callId"], "result": result});
                let request = CustomRequest::new("dev.portcullis/reverse/respond", Some(params));
                // Whatever becomes of it, the server has told the planner by then.
                tokio::spawn(async move { context.peer.send_request(ClientRequest::CustomRequest(request)).await });
            }
            _ => {}
        }
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        *self.calendar.counts().asked.entry("sampling/createMessage".to_owned()).or_default() += 1;
        let words = json!(params.messages);
        let content = &words[0]["content"];
        let words = content.get("text").or_else(|| content.pointer("/0/text")).and_then(Value::as_str);
        let answer = words.and_then(stand_in).and_then(|(name, arguments)| self.calendar.answer(&name, &arguments));
        let used = json!({"type": "tool_use", "id": "1", "name": "answer", "input": answer});
        let said = json!({"role": "assistant", "content": used, "model": "script", "stopReason": "toolUse"});
        serde_json::from_value(said).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

/// For which tool somebody is to stand in, and with which arguments, in the server's words.
fn stand_in(words: &str) -> Option<(String, Value)> {
    let name = words.split("calls the tool `").nth(1)?.split('`').next()?;
    let arguments = words.split("\nThe plugin's arguments: ").nth(1)?.lines().next()?;
    Some((name.to_owned(), serde_json::from_str(arguments).ok()?))
}
