//! Responds to a request whose call was already made under the same idempotency key.

use super::call_result::{CallResult, Remedies};
use super::round_response::RoundResponse;
use super::task_call::{self, TaskAnswer, TaskFollower};
use super::tasks::to_error;
use crate::calls::seal::RequestBinding;
use crate::client::pending::ResumeToken;
use crate::idempotency::{Claim, given_up, not_kept_any_more, outcome_unknown, outcome_unknown_without_key};
use crate::server_context::{SERVER_INFO_META, ServerContext};
use crate::tasks::{TaskError, TaskState};
use policy::Principal;
use protocol::names::{CLIENT_TOOLS, CORRELATION_META, ERROR_META, REPEATED_META};
use rmcp::ErrorData;
use rmcp::model::{InputRequiredResult, JsonObject};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

pub(super) struct Repetition<'a> {
    pub(super) server: &'a Arc<ServerContext>,
    pub(super) principal: &'a Principal,
    pub(super) correlation: Option<&'a str>,
    pub(super) follower: TaskFollower,
    pub(super) remedies: Remedies,
    pub(super) stateless: bool,
    /// Whether its client runs tools of its own.
    pub(super) calls_tools: bool,
    pub(super) binding: RequestBinding,
}

impl Repetition<'_> {
    pub(super) async fn answer(&self, claim: Claim) -> Result<RoundResponse, ErrorData> {
        match claim {
            Claim::Run(_) => Err(ErrorData::internal_error("the call is not a repetition", None)),
            Claim::Done(result) => self.complete(result),
            Claim::Failed(error) => Err(parse(error)?),
            Claim::Parked { token, result } => self.parked(&token, result),
            Claim::Task(id) => match self.task(&id).await? {
                Some(answer) => Ok(answer),
                None => self.complete(not_kept_any_more()),
            },
            Claim::Lost { task, .. } => match self.task(&task).await? {
                Some(answer) => Ok(answer),
                None => self.complete(outcome_unknown()),
            },
        }
    }

    fn complete(&self, result: JsonObject) -> Result<RoundResponse, ErrorData> {
        Ok(RoundResponse::Complete(CallResult::Tool(parse(self.marked(result))?)))
    }

    /// Asks the same questions again, under the same token.
    fn parked(&self, token: &str, result: JsonObject) -> Result<RoundResponse, ErrorData> {
        let calls_tools = result.get("resultType").is_some_and(|kind| kind == CLIENT_TOOLS);
        let kind = if calls_tools { ResumeToken::Continuation } else { ResumeToken::RequestState };
        if !self.server.parked_calls.is_open(token, kind, &self.binding) {
            return self.complete(given_up("nobody answered in time, or its plugin has changed"));
        }
        if !self.stateless || (calls_tools && !self.calls_tools) {
            let text = "the call of this idempotency key waits for answers that this client cannot give";
            return Err(ErrorData::invalid_params(text, None));
        }
        let asked: InputRequiredResult = parse(self.marked(result))?;
        Ok(RoundResponse::InputRequired(asked))
    }

    /// The task in the form of the first response, or its result if this client cannot follow tasks. None if there is no such
    /// task.
    async fn task(&self, id: &str) -> Result<Option<RoundResponse>, ErrorData> {
        let task = match self.server.tasks.get(self.principal, id).await {
            Ok(task) => task,
            Err(TaskError::Unknown) => return Ok(None),
            Err(error) => return Err(to_error(error)),
        };
        if self.follower == TaskFollower::Nobody {
            return match task.state {
                TaskState::Completed { result } => self.complete(result).map(Some),
                TaskState::Failed { error } => Err(parse(error)?),
                _ => Err(task_call::needs_extension()),
            };
        }
        let mut meta = self.server.call_meta(&task.call, self.correlation);
        meta.insert(REPEATED_META.to_owned(), true.into());
        Ok(Some(match task_call::answer(id, &task, self.follower, meta) {
            TaskAnswer::Created(task) => RoundResponse::Task(task),
            TaskAnswer::Text(result) => RoundResponse::Complete(CallResult::Tool(result)),
        }))
    }

    /// Marks the result as repeated, with this request's own values in its `_meta`.
    fn marked(&self, mut result: JsonObject) -> JsonObject {
        let meta = result.entry("_meta").or_insert_with(|| JsonObject::new().into());
        let Some(meta) = meta.as_object_mut() else { return result };
        meta.remove(CORRELATION_META);
        meta.extend(self.correlation.map(|correlation| (CORRELATION_META.to_owned(), correlation.into())));
        meta.insert(SERVER_INFO_META.to_owned(), self.server.server_info.clone());
        meta.insert(REPEATED_META.to_owned(), true.into());
        if self.remedies == Remedies::Withheld
            && let Some(error) = meta.get_mut(ERROR_META).and_then(Value::as_object_mut)
        {
            error.remove("remedy");
        }
        result
    }
}

/// The response to a request without a key whose call an earlier process had begun.
pub(super) fn interrupted(server: &ServerContext) -> Result<RoundResponse, ErrorData> {
    let mut result = outcome_unknown_without_key();
    if let Some(Value::Object(meta)) = result.get_mut("_meta") {
        meta.insert(SERVER_INFO_META.to_owned(), server.server_info.clone());
    }
    Ok(RoundResponse::Complete(CallResult::Tool(parse(result)?)))
}

/// Parses a stored value, which has the form of the protocol's types.
fn parse<T: DeserializeOwned>(stored: JsonObject) -> Result<T, ErrorData> {
    serde_json::from_value(stored.into()).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}
