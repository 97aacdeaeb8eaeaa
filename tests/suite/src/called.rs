//! The answer to a request, with the notifications that were sent before it.

use serde_json::Value;
use std::time::{Duration, Instant};

/// One answered request.
#[derive(Debug)]
pub struct Answer {
    /// The whole message.
    pub message: Value,
    /// Notifications that arrived between request and answer, with their times.
    pub notifications: Vec<(Instant, Value)>,
    /// When the request was sent.
    pub sent: Instant,
    /// When the answer arrived.
    pub answered: Instant,
}

impl Answer {
    /// The result. A JSON-RPC error fails the test.
    pub fn result(&self) -> &Value {
        assert!(self.message.get("error").is_none(), "an error instead of a result: {}", self.message);
        &self.message["result"]
    }

    /// The JSON-RPC error's code.
    pub fn error_code(&self) -> i64 {
        self.message["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {}", self.message))
    }

    /// The parameters of all notifications of a method.
    pub fn notified(&self, method: &str) -> Vec<&Value> {
        let of_method = self.notifications.iter().filter(|(_, message)| message["method"] == method);
        of_method.map(|(_, message)| &message["params"]).collect()
    }

    /// How long it took.
    pub fn elapsed(&self) -> Duration {
        self.answered - self.sent
    }
}

/// One answered call of a tool.
#[derive(Debug)]
pub struct Called(pub Answer);

impl Called {
    /// The method of a chunk.
    pub const CHUNK: &str = "notifications/dev.portcullis/partial_result";

    /// The result.
    pub fn result(&self) -> &Value {
        self.0.result()
    }

    /// Whether it is an error of the tool or the host.
    pub fn is_error(&self) -> bool {
        self.result()["isError"] == true
    }

    /// All its text.
    pub fn text(&self) -> String {
        let content = self.result()["content"].as_array().unwrap_or_else(|| panic!("no content: {}", self.result()));
        content.iter().filter_map(|piece| piece["text"].as_str()).collect::<Vec<_>>().join("\n")
    }

    /// The text of the result, which must not be an error.
    pub fn good(&self) -> String {
        assert!(!self.is_error(), "an error: {}", self.result());
        self.text()
    }

    /// The host's reason why it stopped or refused the call.
    pub fn error(&self) -> &Value {
        let error = &self.result()["_meta"]["dev.portcullis/error"];
        assert!(self.is_error() && error.is_object(), "not stopped by the host: {}", self.result());
        assert!(!self.text().is_empty(), "an error without a sentence: {}", self.result());
        error
    }

    /// The error code of [`Self::error`].
    pub fn code(&self) -> &str {
        self.error()["code"].as_str().unwrap_or_else(|| panic!("no code: {}", self.result()))
    }

    /// A number in [`Self::error`].
    pub fn number(&self, key: &str) -> u64 {
        self.error()[key]
            .as_f64()
            .map(|number| number as u64)
            .unwrap_or_else(|| panic!("no number `{key}` in {}", self.error()))
    }

    /// The resources that the call used.
    pub fn usage(&self) -> &Value {
        let usage = &self.result()["_meta"]["dev.portcullis/usage"];
        assert!(usage.is_object(), "no usage: {}", self.result());
        usage
    }

    /// The chunks' parameters.
    pub fn chunks(&self) -> Vec<&Value> {
        let mut chunks = self.0.notified(Self::CHUNK);
        chunks.retain(|chunk| chunk["final"] != true);
        chunks
    }

    /// The chunks that mark the end of the stream.
    pub fn ends(&self) -> Vec<&Value> {
        let mut ends = self.0.notified(Self::CHUNK);
        ends.retain(|chunk| chunk["final"] == true);
        ends
    }

    /// The result's summary of its chunks.
    pub fn stream(&self) -> &Value {
        &self.result()["_meta"]["dev.portcullis/stream"]
    }

    /// The progress notifications' parameters.
    pub fn progress(&self) -> Vec<&Value> {
        self.0.notified("notifications/progress")
    }

    /// The result without the values that differ between calls.
    pub fn substance(&self) -> Value {
        let mut result = self.result().clone();
        if let Some(fields) = result.as_object_mut() {
            fields.remove("_meta");
        }
        result
    }
}
