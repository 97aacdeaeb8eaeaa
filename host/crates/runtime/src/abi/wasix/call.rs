//! Calls a tool, reads a resource or gets a prompt.

use super::super::guest::Guest;
use super::super::guest_call::{GuestAnswer, GuestCall};
use super::super::values::{RecordFields, boolean, full_case, list, result, single_float, string, text};
use super::content::{content, resource, role};
use super::exports::WasixExports;
use crate::imports as h;
use wasmtime::component::{Instance, Val};
use wasmtime::{Error, Store};

impl WasixExports {
    pub(in super::super) async fn call(
        &self,
        call: GuestCall,
        store: &mut Store<Guest>,
        instance: &Instance,
    ) -> wasmtime::Result<GuestAnswer> {
        Ok(match call {
            GuestCall::Tool { name, arguments } => {
                let params = [string(&*name), string(arguments)];
                let answer = result(self.call_tool.call(store, instance, &params).await?)?;
                GuestAnswer::Tool(match answer {
                    Ok(response) => tool_result(response, store)?,
                    Err(error) => Err(tool_error(error)?),
                })
            }
            GuestCall::Resource { uri } => {
                let answer = result(self.read_resource.call(store, instance, &[string(uri)]).await?)?;
                GuestAnswer::Resource(match answer {
                    Ok(read) => Ok(RecordFields::read(read)?.take("contents", |contents| list(contents, resource))?),
                    Err(error) => Err(read_error(error)?),
                })
            }
            GuestCall::Prompt { name, .. } => {
                let answer = result(self.get_prompt.call(store, instance, &[string(name)]).await?)?;
                GuestAnswer::Prompt(match answer {
                    Ok(prompt) => Ok(prompt_result(prompt)?),
                    Err(error) => Err(tool_error(error)?),
                })
            }
            GuestCall::Completion(_) | GuestCall::Reconcile { .. } => {
                return Err(Error::msg("a component of this dialect has nothing that can be called so"));
            }
        })
    }
}

fn tool_result(response: Val, store: &mut Store<Guest>) -> wasmtime::Result<Result<h::ToolResult, h::ToolError>> {
    let (case, value) = full_case(response)?;
    let mut fields = RecordFields::read(value)?;
    if case != "completed" {
        let question = fields.take("message", text)?;
        return Ok(Err(h::ToolError::Unsupported(format!(
            "it asks the user, and its dialect cannot be given the answer; call it again with all that it needs. It asks: {question}"
        ))));
    }
    report_progress(&mut fields, store)?;
    Ok(Ok(h::ToolResult {
        content: fields.take("content", |blocks| list(blocks, content))?,
        structured: fields.option("structured-content", text)?,
        is_error: fields.option("is-error", boolean)?.unwrap_or(false),
    }))
}

/// In this dialect, a component returns its progress together with the result.
fn report_progress(result: &mut RecordFields, store: &mut Store<Guest>) -> wasmtime::Result<()> {
    let report = |value: Val| {
        let mut report = RecordFields::read(value)?;
        Ok((report.option("progress", single_float)?, report.option("message", text)?))
    };
    let reports = result.option("progress", |reports| list(reports, report))?.unwrap_or_default();
    let imports = store.data_mut().imports()?;
    for (done, message) in reports {
        if let Some(done) = done {
            imports.progress.report(h::ProgressReport { done, total: None, message }, imports.journal.is_replaying());
        }
    }
    Ok(())
}

fn prompt_result(value: Val) -> wasmtime::Result<h::PromptResult> {
    let message = |value: Val| {
        let mut message = RecordFields::read(value)?;
        Ok(h::PromptMessage { role: message.take("role", role)?, content: message.take("content", content)? })
    };
    let mut prompt = RecordFields::read(value)?;
    Ok(h::PromptResult {
        description: prompt.option("description", text)?,
        messages: prompt.take("messages", |messages| list(messages, message))?,
    })
}

fn tool_error(error: Val) -> wasmtime::Result<h::ToolError> {
    let (case, reason) = full_case(error)?;
    let reason = text(reason)?;
    Ok(match case.as_str() {
        "invalid-parameters" => h::ToolError::InvalidArguments(reason),
        _ => h::ToolError::Failed(reason),
    })
}

fn read_error(error: Val) -> wasmtime::Result<h::ReadError> {
    let (case, reason) = full_case(error)?;
    Ok(match case.as_str() {
        "not-found" => h::ReadError::NotFound,
        _ => h::ReadError::Failed(h::ToolError::Failed(text(reason)?)),
    })
}
