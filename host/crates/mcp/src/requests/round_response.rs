//! Makes the result of a method from the end of a round.

use super::call_result::{self, CallResult, Remedies};
use super::round::RoundOutcome;
use super::task_call::TaskAnswer;
use crate::request_context::LargeAnswer;
use crate::server_context::ServerContext;
use rmcp::ErrorData;
use rmcp::model::{CreateTaskResult, InputRequiredResult};
use runtime::engine::{is_large, work_in_pool_if_large};

/// The response to a request.
pub(crate) enum RoundResponse {
    Complete(CallResult),
    InputRequired(InputRequiredResult),
    /// Only `tools/call` has this response.
    Task(CreateTaskResult),
}

/// What the form of a response depends on.
pub(super) struct Answering {
    pub(super) is_tool: bool,
    pub(super) remedies: Remedies,
    pub(super) large: Option<LargeAnswer>,
}

impl Answering {
    pub(super) async fn respond(
        &self,
        server: &ServerContext,
        outcome: RoundOutcome,
    ) -> Result<RoundResponse, ErrorData> {
        let (finished, record) = match outcome {
            RoundOutcome::NotBegun(error) => return Err(error),
            RoundOutcome::InputRequired(result) => return Ok(RoundResponse::InputRequired(result)),
            RoundOutcome::Task(TaskAnswer::Created(task)) => return Ok(RoundResponse::Task(task)),
            RoundOutcome::Task(TaskAnswer::Text(result)) => {
                return Ok(RoundResponse::Complete(CallResult::Tool(result)));
            }
            RoundOutcome::Finished(finished, record) | RoundOutcome::GivenUp(finished, record) => (finished, record),
        };
        let (bytes, owner) = (finished.usage.output_bytes, record.owner());
        let meta = server.call_meta(record.call_id(), record.correlation());
        let (is_tool, remedies) = (self.is_tool, self.remedies);
        let convert = move || call_result::to_result(finished, is_tool, meta, &record, remedies);
        let result = work_in_pool_if_large(bytes, || owner.clone(), convert).await?;
        if is_large(bytes)
            && let Some(answer) = &self.large
        {
            answer.set(owner);
        }
        Ok(RoundResponse::Complete(result))
    }
}
