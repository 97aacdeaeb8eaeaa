//! A client whose own tool is called back while it waits for a call's answer: `dev.portcullis/client-tools` over stdio,
//! in each of its lanes, with as little overhead as possible.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};

use super::StdioClient;

const EXTENSION: &str = "dev.portcullis/client-tools";
const CHANNEL: &str = "the-channel-of-the-bench";

/// The lane that reverse calls use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lane {
    /// As notifications of a request that stays open.
    Live,
    /// As the result of the request, which the client then repeats.
    Retry,
    /// As requests on the call's stream.
    Request,
    /// As questions to the client's model.
    Ask,
}

impl Lane {
    pub(crate) const ALL: [Self; 4] = [Self::Live, Self::Retry, Self::Request, Self::Ask];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Retry => "retry",
            Self::Request => "request",
            Self::Ask => "ask",
        }
    }
}

/// A client with a calendar.
pub(crate) struct Agent {
    client: StdioClient,
    lane: Lane,
    next: u64,
    /// Reverse calls answered so far.
    pub(crate) served: u64,
}

impl Agent {
    /// Performs the handshake or opens the channel, if the lane has one.
    pub(crate) async fn connect(client: StdioClient, lane: Lane) -> Result<Self> {
        let mut agent = Self { client, lane, next: 0, served: 0 };
        match lane {
            Lane::Live => {
                agent.begin("dev.portcullis/reverse/listen", json!({"channel": CHANNEL})).await?;
                let ready = agent.client.receive().await?;
                let method = "notifications/dev.portcullis/reverse_listening";
                ensure!(ready["method"] == method, "the channel is not open: {ready}");
            }
            Lane::Retry | Lane::Ask => {}
            Lane::Request => {
                let info = json!({"name": "portcullis-bench", "version": env!("CARGO_PKG_VERSION")});
                let params =
                    json!({"protocolVersion": "2025-11-25", "capabilities": capabilities(lane), "clientInfo": info});
                let id = agent.begin("initialize", params).await?;
                agent.answer(id).await?;
                let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
                agent.client.send(&ready).await?;
            }
        }
        Ok(agent)
    }

    /// Calls a tool, answers its reverse calls, and returns its structured result.
    pub(crate) async fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        let params = json!({"name": tool, "arguments": arguments});
        let mut id = self.begin("tools/call", params.clone()).await?;
        loop {
            let mut result = self.answer(id).await?;
            if result["resultType"] == EXTENSION {
                let calls = result["toolCalls"].as_object().context("a round without calls")?;
                let results: Map<String, Value> =
                    calls.iter().map(|(key, call)| (key.clone(), outcome(call))).collect();
                self.served += results.len() as u64;
                let mut again = params.clone();
                again["_meta"] =
                    json!({EXTENSION: {"continuation": result["continuation"].take(), "results": results}});
                id = self.begin("tools/call", again).await?;
                continue;
            }
            if result["resultType"] == "input_required" {
                let asked = result["inputRequests"].as_object().context("a round without questions")?;
                let responses: Map<String, Value> = asked.keys().map(|key| (key.clone(), stand_in())).collect();
                self.served += responses.len() as u64;
                let mut again = params.clone();
                again["requestState"] = result["requestState"].take();
                again["inputResponses"] = responses.into();
                id = self.begin("tools/call", again).await?;
                continue;
            }
            ensure!(result["isError"] != true, "the tool failed: {result}");
            return Ok(result["structuredContent"].take());
        }
    }

    async fn begin(&mut self, method: &str, mut params: Value) -> Result<u64> {
        let id = self.next;
        self.next += 1;
        if self.lane != Lane::Request {
            let info = json!({"name": "portcullis-bench", "version": env!("CARGO_PKG_VERSION")});
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            meta["io.modelcontextprotocol/clientInfo"] = info;
            meta["io.modelcontextprotocol/clientCapabilities"] = capabilities(self.lane);
        }
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.client.send(&request).await?;
        Ok(id)
    }

    /// The result of a request; reverse calls that arrive before it are answered.
    async fn answer(&mut self, wanted: u64) -> Result<Value> {
        loop {
            let mut message = self.client.receive().await?;
            if let Some(error) = message.get("error") {
                bail!("answered with the error {error}");
            }
            match message["method"].as_str() {
                Some("notifications/dev.portcullis/reverse_call") => {
                    let call = &message["params"];
                    let answer = json!({"channel": CHANNEL, "callId": call["callId"], "result": outcome(call)});
                    self.served += 1;
                    self.begin("dev.portcullis/reverse/respond", answer).await?;
                }
                Some("dev.portcullis/tools/call") => {
                    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": outcome(&message["params"])});
                    self.served += 1;
                    self.client.send(&answer).await?;
                }
                Some(other) => bail!("an unexpected {other} came before the answer: {message}"),
                None if message["id"] == wanted => return Ok(message["result"].take()),
                // The acknowledgement that the answer to a reverse call was accepted.
                None => {}
            }
        }
    }
}

fn capabilities(lane: Lane) -> Value {
    if lane == Lane::Ask {
        return json!({"sampling": {"tools": {}}});
    }
    let schema = json!({"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]});
    let tool = json!({"name": "calendar.free_slots", "description": "Free hours of one day.", "inputSchema": schema});
    let limits = json!({"calls": 1_000});
    let mut declaration = json!({"allowServerCalls": true, "tools": [tool], "lanes": [lane.name()], "limits": limits});
    if lane == Lane::Live {
        declaration["channel"] = CHANNEL.into();
    }
    json!({"extensions": {EXTENSION: declaration}})
}

/// The answer of a model that replaces the calendar.
fn stand_in() -> Value {
    let used = json!({"type": "tool_use", "id": "1", "name": "answer", "input": free()});
    json!({"role": "assistant", "content": used, "model": "bench", "stopReason": "toolUse"})
}

fn free() -> Value {
    json!({"day": "2026-12-01", "slots": ["11:00", "15:00"]})
}

/// The calendar's answer, the same as that of `plugins/calendar` for the first of a month.
fn outcome(call: &Value) -> Value {
    let mut free = free();
    free["day"] = call["arguments"]["day"].clone();
    json!({"content": [{"type": "text", "text": free.to_string()}], "structuredContent": free})
}
