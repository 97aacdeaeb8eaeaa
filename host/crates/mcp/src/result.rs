//! A finished call as a `CallToolResult`, with what it cost and, when it failed, why in typed form.

use super::content::blocks;
use super::{ERROR, USAGE};
use plugins::registry::{Finished, Usage};
use policy::LineageError;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use runtime::engine::CallError;
use serde_json::{Value, json};
use std::time::Duration;

pub(super) fn of(finished: Finished, mut meta: MetaObject) -> CallToolResult {
    meta = cost(&finished.usage, meta);
    let mut result = match finished.result {
        Ok(answer) => {
            let content = blocks(answer.content);
            let mut result =
                if answer.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
            result.structured_content = answer.structured.map(|structured| structured.value);
            result
        }
        Err(error) => {
            meta.insert(ERROR.to_owned(), typed(&error));
            CallToolResult::error(vec![ContentBlock::text(error.to_string())])
        }
    };
    result.meta = Some(meta);
    result
}

/// What a call cost, for `_meta`.
pub(super) fn cost(usage: &Usage, mut meta: MetaObject) -> MetaObject {
    meta.insert(USAGE.to_owned(), self::usage(usage));
    meta
}

/// A call that failed where the protocol has no place for a failure but its own error: everywhere except in tools.
pub(super) fn refused(error: &CallError, usage: &Usage) -> ErrorData {
    let data = Some(json!({ ERROR: typed(error), USAGE: self::usage(usage) }));
    match error {
        CallError::InvalidArguments { .. } => ErrorData::invalid_params(error.to_string(), data),
        _ => ErrorData::internal_error(error.to_string(), data),
    }
}

fn usage(usage: &Usage) -> Value {
    json!({
        "fuel": usage.spent.fuel,
        "cpuMs": millis(usage.spent.cpu),
        "wallMs": millis(usage.wall),
        "peakMemory": usage.peak_memory,
        "chunks": usage.chunks,
        "outputBytes": usage.output_bytes,
        "calls": usage.calls,
        "questions": usage.questions,
        "modelTokens": usage.model_tokens,
    })
}

fn millis(duration: Duration) -> f64 {
    // Whole microseconds: enough to compare, short on the wire.
    (duration.as_micros() as f64) / 1_000.0
}

fn typed(error: &CallError) -> Value {
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
            "capability": denial.capability.key(),
            "target": denial.capability.target(),
            "remedy": denial.remedy,
        }),
        CallError::Lineage(LineageError::Depth(limit) | LineageError::Calls(limit)) => json!({ "limit": limit }),
        CallError::Lineage(LineageError::Arguments(limit) | LineageError::Results(limit)) => json!({ "limit": limit }),
        CallError::Lineage(LineageError::Waiting(limit)) => json!({ "limitMs": limit }),
        CallError::Unsupported { what } => json!({ "what": what }),
        CallError::InstancesExceeded { detail } => json!({ "detail": detail }),
        CallError::Busy { limit, .. } => json!({ "limit": limit }),
        CallError::TooOften { rate, retry_after, .. } => {
            json!({ "rate": rate.to_string(), "retryAfterMs": millis(*retry_after) })
        }
        CallError::PluginFailing { failures, cause, retry_after } => {
            json!({ "failures": failures, "cause": cause, "retryAfterMs": millis(*retry_after) })
        }
        CallError::Lineage(LineageError::Cycle(..))
        | CallError::StackOverflow
        | CallError::Cancelled
        | CallError::Unrecorded
        | CallError::Internal => {
            json!({})
        }
    };
    value["code"] = error.code().into();
    value
}
