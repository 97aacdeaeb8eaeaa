//! Makes the result of the protocol from a finished call, with its cost and, if it failed, a typed error.

use super::text_copy::shorten_copy;
use crate::client::chunk_record::ChunkRecord;
use crate::request_context::declares;
use crate::server_context::SERVER_INFO_META;
use platform::telemetry::printable;
use platform::text::truncate_chars;
use plugins::calls::{Answer, CallAnswer, CallUsage, FinishedCall};
use policy::{Denial, LineageError};
use protocol::content::{to_block, to_blocks, to_resource_contents, to_role};
use protocol::names::{CALL_META, CORRELATION_META, ERROR_META, REMEDIES, STREAM_META, USAGE_META};
use protocol::questions;
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, CallToolResult, ContentBlock, GetPromptResult, MetaObject, PromptMessage, ReadResourceResult,
};
use rmcp::service::{RequestContext, RoleServer};
use runtime::engine::CallError;
use runtime::imports::{EmbeddedResource, PromptResult};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Refused files that a note names, and characters of each name. Bounds how much of the host's own sentence a tool can choose.
const MAX_SHOWN_PATHS: usize = 5;
const MAX_SHOWN_PATH: usize = 120;

/// The result of a request that may take several rounds.
pub(crate) enum CallResult {
    Tool(CallToolResult),
    Prompt(GetPromptResult),
    /// None if there is no such resource.
    Resource(Option<ReadResourceResult>),
}

impl CallResult {
    /// Removes the cost, for a client that did not ask for it. Many agents let their model read all of `_meta`.
    pub(super) fn without_usage(mut self) -> Self {
        let meta = match &mut self {
            Self::Tool(result) => &mut result.meta,
            Self::Prompt(result) => &mut result.meta,
            Self::Resource(Some(result)) => &mut result.meta,
            Self::Resource(None) => return self,
        };
        if let Some(meta) = meta {
            meta.0.remove(USAGE_META);
        }
        self
    }
}

/// Removes the cost from an error, for a client that did not ask for it.
pub(super) fn error_without_usage(mut error: ErrorData) -> ErrorData {
    if let Some(Value::Object(data)) = &mut error.data {
        data.remove(USAGE_META);
    }
    error
}

/// Whether a request asks for the cost of its call.
pub(super) fn asks_usage(context: &RequestContext<RoleServer>) -> bool {
    context.meta.get(USAGE_META) == Some(&Value::Bool(true))
}

/// Whether a client is shown how to get more authority. Some agents let their model read all of a failed result, `_meta`
/// included, and a model with a shell runs the command that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remedies {
    /// The client shows remedies only to people.
    Shown,
    Withheld,
}

impl Remedies {
    pub(crate) fn from_context(context: &RequestContext<RoleServer>) -> Self {
        if declares(context, REMEDIES) { Self::Shown } else { Self::Withheld }
    }
}

/// Makes the result of the call's method. Only the result of `tools/call` can say that the call failed, and has a summary of
/// its chunks.
pub(crate) fn to_result(
    finished: FinishedCall,
    is_tool: bool,
    meta: MetaObject,
    record: &ChunkRecord,
    remedies: Remedies,
) -> Result<CallResult, ErrorData> {
    let FinishedCall { result, usage, meta: said, refused_files, .. } = finished;
    let mut meta = with_usage(&usage, meta);
    // None of the host's own keys are among these.
    meta.0.extend(said);
    if is_tool {
        let error = result.as_ref().err().map(|error| (ERROR_META.to_owned(), error_to_json(error, remedies)));
        meta.0.extend(error.into_iter().chain(record.summary().map(|chunks| (STREAM_META.to_owned(), chunks))));
    }
    Ok(match result {
        Ok(CallAnswer::Tool(answer)) => CallResult::Tool(to_tool_result(answer, meta, record, &refused_files)),
        Ok(CallAnswer::Resource(contents)) => CallResult::Resource(contents.map(|it| to_resource_result(it, meta))),
        Ok(CallAnswer::Prompt(prompt)) => CallResult::Prompt(to_prompt_result(prompt, meta)),
        // `completion` makes these results itself.
        Ok(CallAnswer::Completion(_)) => return unexpected_result(),
        Err(error) if is_tool => {
            let texts = [error.to_string()].into_iter().chain(record.note_of_failure());
            let mut result = CallToolResult::error(texts.map(ContentBlock::text).collect());
            result.meta = Some(meta);
            CallResult::Tool(result)
        }
        Err(error) => return Err(to_error(&error, &usage, remedies)),
    })
}

/// A finished tool call as JSON, in the form of a `tools/call` result.
pub fn finished_to_json(finished: FinishedCall<Answer>) -> Value {
    let FinishedCall { result, usage, .. } = finished;
    let mut meta = Map::from_iter([(USAGE_META.to_owned(), usage_to_json(&usage))]);
    let mut value = match result {
        Ok(Answer { content, structured, is_error, meta: said }) => {
            meta.extend(said);
            let mut value = json!({ "content": to_blocks(content), "isError": is_error });
            if let Some(structured) = structured {
                value["structuredContent"] = structured.value;
            }
            value
        }
        Err(error) => {
            meta.insert(ERROR_META.to_owned(), error_to_json(&error, Remedies::Shown));
            json!({ "content": [ContentBlock::text(error.for_operator())], "isError": true })
        }
    };
    value["_meta"] = meta.into();
    value
}

/// Fails a request whose call needs a capability that the client did not declare on it.
pub(crate) fn check_capabilities(stateless: bool, finished: &FinishedCall) -> Result<(), ErrorData> {
    match &finished.result {
        Err(error @ CallError::Unsupported { .. })
            if stateless && (finished.missing_abilities.any() || finished.missing_tools) =>
        {
            let required = questions::abilities_to_capabilities(finished.missing_abilities, finished.missing_tools);
            let mut refused = ErrorData::missing_required_client_capability(required);
            // Clients show a model only the message, and rmcp's message does not say what is missing.
            refused.message = format!("{}: {error}", refused.message).into();
            Err(refused)
        }
        _ => Ok(()),
    }
}

/// A call returned the result of another method, which cannot happen: tokens are bound to their method.
pub(crate) fn unexpected_result<R>() -> Result<R, ErrorData> {
    Err(ErrorData::internal_error("the call returned the result of another method", None))
}

fn to_tool_result(
    answer: Answer,
    mut meta: MetaObject,
    record: &ChunkRecord,
    refused_files: &[Denial],
) -> CallToolResult {
    let mut content = to_blocks(answer.content);
    shorten_copy(&mut content, answer.structured.as_ref().map(|structured| &structured.value));
    content.extend(note(answer.is_error, record, refused_files).map(ContentBlock::text));
    let mut result = if answer.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = answer.structured.map(|structured| structured.value);
    // None of the host's own keys are among these.
    meta.0.extend(answer.meta);
    result.meta = Some(meta);
    result
}

/// A note of the host beside the result of a tool. A tool that reports no error may have seen a folder that it may not read as
/// an empty one.
pub(crate) fn note(is_error: bool, record: &ChunkRecord, refused: &[Denial]) -> Option<String> {
    if is_error {
        return record.note_of_failure();
    }
    let advice = refused.first()?.advice;
    let shown = |denial: &Denial| {
        let path = truncate_chars(&denial.target, MAX_SHOWN_PATH);
        format!("`{}` {}", printable(path), denial.reason)
    };
    let mut paths: Vec<_> = refused.iter().take(MAX_SHOWN_PATHS).map(shown).collect();
    if refused.len() > MAX_SHOWN_PATHS {
        paths.push(format!("and {} more", refused.len() - MAX_SHOWN_PATHS));
    }
    Some(format!("(The tool was refused files, and may have answered without them: {}. {advice})", paths.join(", ")))
}

fn to_resource_result(contents: Vec<EmbeddedResource>, meta: MetaObject) -> ReadResourceResult {
    // A plugin does not say how long, or by whom, a resource may be cached.
    let mut result = ReadResourceResult::new(contents.into_iter().map(to_resource_contents).collect()).with_ttl_ms(0);
    result.cache_scope = Some(CacheScope::Private);
    result.meta = Some(meta);
    result
}

fn to_prompt_result(prompt: PromptResult, meta: MetaObject) -> GetPromptResult {
    let messages = prompt.messages.into_iter().map(|it| PromptMessage::new(to_role(it.role), to_block(it.content)));
    let mut result = GetPromptResult::new(messages.collect());
    result.description = prompt.description;
    result.meta = Some(meta);
    result
}

/// Adds the cost of the call.
pub(crate) fn with_usage(usage: &CallUsage, mut meta: MetaObject) -> MetaObject {
    meta.insert(USAGE_META.to_owned(), usage_to_json(usage));
    meta
}

/// The error of a failed call of any method except `tools/call`, whose result can say itself that the tool failed.
pub(crate) fn to_error(error: &CallError, usage: &CallUsage, remedies: Remedies) -> ErrorData {
    let data = Some(json!({ ERROR_META: error_to_json(error, remedies), USAGE_META: usage_to_json(usage) }));
    match error {
        CallError::InvalidArguments { .. } => ErrorData::invalid_params(error.to_string(), data),
        _ => ErrorData::internal_error(error.to_string(), data),
    }
}

/// The cost of a call, in the form that `_meta` has.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    fuel: Option<u64>,
    cpu_ms: f64,
    wall_ms: f64,
    peak_memory: u64,
    chunks: u64,
    output_bytes: u64,
    calls: u32,
    questions: u32,
    model_tokens: u64,
}

impl Usage {
    fn new(usage: &CallUsage) -> Self {
        Self {
            fuel: usage.spent.fuel,
            cpu_ms: millis(usage.spent.cpu),
            wall_ms: millis(usage.wall),
            peak_memory: usage.peak_memory,
            chunks: usage.chunks,
            output_bytes: usage.output_bytes,
            calls: usage.calls,
            questions: usage.questions,
            model_tokens: usage.model_tokens,
        }
    }
}

/// The `_meta` of a call's result, for a result that is serialized directly. Its client declares none of our extensions.
pub(crate) struct CallMeta<'a> {
    pub(crate) server_info: &'a Value,
    pub(crate) call: &'a str,
    pub(crate) correlation: Option<&'a str>,
    /// The cost, if the client asks for it.
    pub(crate) usage: Option<&'a CallUsage>,
    pub(crate) error: Option<&'a CallError>,
    /// The summary of its chunks.
    pub(crate) stream: Option<Value>,
    /// The `_meta` that another server has sent.
    pub(crate) said: &'a Map<String, Value>,
}

impl Serialize for CallMeta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { server_info, call, correlation, usage, error, stream, said } = self;
        let mut map = serializer.serialize_map(None)?;
        if let Some(correlation) = correlation {
            map.serialize_entry(CORRELATION_META, correlation)?;
        }
        map.serialize_entry(SERVER_INFO_META, server_info)?;
        map.serialize_entry(CALL_META, call)?;
        if let Some(usage) = usage {
            map.serialize_entry(USAGE_META, &Usage::new(usage))?;
        }
        if let Some(error) = error {
            map.serialize_entry(ERROR_META, &error_to_json(error, Remedies::Withheld))?;
        }
        if let Some(stream) = stream {
            map.serialize_entry(STREAM_META, stream)?;
        }
        for (key, value) in *said {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

pub(crate) fn usage_to_json(usage: &CallUsage) -> Value {
    serde_json::to_value(Usage::new(usage)).unwrap_or_default()
}

fn millis(duration: Duration) -> f64 {
    // Rounded to microseconds, to be short.
    (duration.as_micros() as f64) / 1_000.0
}

pub(super) fn error_to_json(error: &CallError, remedies: Remedies) -> Value {
    let mut value = match error {
        CallError::FuelExhausted { limit, used } | CallError::OutputExceeded { limit, used } => {
            json!({ "limit": limit, "used": used })
        }
        CallError::CpuExhausted { limit, used } => json!({ "limitMs": millis(*limit), "usedMs": millis(*used) }),
        CallError::DeadlineExceeded { limit } => json!({ "limitMs": millis(*limit) }),
        CallError::MemoryExceeded { limit, requested } | CallError::TableExceeded { limit, requested } => {
            json!({ "limit": limit, "requested": requested })
        }
        CallError::HandlesExceeded { limit } | CallError::HostcallExceeded { limit } => json!({ "limit": limit }),
        CallError::ScratchExceeded { limit, remedy } => json!({ "limit": limit, "remedy": remedy }),
        CallError::Trap { trap, message } => json!({ "trap": trap, "message": message }),
        CallError::Exited { status } => json!({ "status": status }),
        CallError::InvalidOutput { reason }
        | CallError::InvalidArguments { reason }
        | CallError::Failed { reason }
        | CallError::Upstream { reason } => {
            json!({ "reason": reason })
        }
        CallError::Denied(denial) => json!({
            "capability": denial.capability,
            "target": denial.target,
            "remedy": denial.remedy,
        }),
        CallError::Lineage(LineageError::Depth(limit) | LineageError::Calls(limit)) => json!({ "limit": limit }),
        CallError::Lineage(LineageError::Arguments(limit) | LineageError::Results(limit)) => json!({ "limit": limit }),
        CallError::Lineage(LineageError::Waiting(limit)) => json!({ "limitMs": limit }),
        CallError::Unsupported { what } => json!({ "what": what }),
        CallError::InstancesExceeded { detail } => json!({ "detail": detail }),
        CallError::Busy { limit, .. } => json!({ "limit": limit }),
        CallError::RateLimited { rate, retry_after, .. } => {
            json!({ "rate": rate.to_string(), "retryAfterMs": millis(*retry_after) })
        }
        CallError::DayUsedUp { day, .. } => json!({ "limit": day.limit, "until": day.until() }),
        CallError::PluginFailing { failures, cause, retry_after } => {
            json!({ "failures": failures, "cause": cause, "retryAfterMs": millis(*retry_after) })
        }
        CallError::Lineage(LineageError::Cycle(..))
        | CallError::StackOverflow
        | CallError::Cancelled
        | CallError::AuditUnavailable
        | CallError::Journal(_)
        | CallError::Internal => {
            json!({})
        }
    };
    value["code"] = error.code().into();
    if remedies == Remedies::Withheld
        && let Some(fields) = value.as_object_mut()
    {
        fields.remove("remedy");
    }
    value
}
