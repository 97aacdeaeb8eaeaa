//! Calls a tool, reads a resource, gets a prompt or completes an argument.

use super::super::guest::Guest;
use super::super::guest_call::{GuestAnswer, GuestCall};
use super::super::values::{RecordFields, boolean, list, none, record, some, string, text, unsigned};
use super::content::{content, resource};
use super::exports::WasmcpExports;
use super::function::WasmcpFunction;
use super::offer::role;
use super::streams::Streams;
use crate::imports as h;
use serde_json::{Map, Value};
use wasmtime::component::{Instance, Val};
use wasmtime::{Error, Store};

impl WasmcpExports {
    pub(in super::super) async fn call(
        &self,
        call: GuestCall,
        store: &mut Store<Guest>,
        instance: &Instance,
    ) -> wasmtime::Result<GuestAnswer> {
        Ok(match call {
            GuestCall::Tool { name, arguments } => {
                let given = vec![("name", string(&*name)), ("arguments", string(arguments))];
                let answer = self.ask(self.call_tool.as_ref(), store, instance, given).await?;
                GuestAnswer::Tool(match answer {
                    Ok(Some((value, streams))) => Ok(tool_result(value, streams)?),
                    Ok(None) => Err(h::ToolError::Failed("it says that it has no tool of this name".into())),
                    Err(failure) => Err(failure.into_tool_error()),
                })
            }
            GuestCall::Resource { uri } => {
                let given = vec![("uri", string(uri))];
                let answer = self.ask(self.read_resource.as_ref(), store, instance, given).await?;
                GuestAnswer::Resource(match answer {
                    Ok(Some((value, streams))) => Ok(resource_contents(value, streams)?),
                    Ok(None) => Err(h::ReadError::NotFound),
                    Err(failure) if failure.is_not_found() => Err(h::ReadError::NotFound),
                    Err(failure) => Err(h::ReadError::Failed(failure.into_tool_error())),
                })
            }
            GuestCall::Prompt { name, arguments } => {
                let given = vec![("name", string(name)), ("arguments", string(object(arguments)))];
                let answer = self.ask(self.get_prompt.as_ref(), store, instance, given).await?;
                GuestAnswer::Prompt(match answer {
                    Ok(Some((value, streams))) => Ok(prompt_result(value, streams)?),
                    Ok(None) => Err(h::ToolError::Failed("it says that it has no prompt of this name".into())),
                    Err(failure) => Err(failure.into_tool_error()),
                })
            }
            GuestCall::Completion(query) => {
                let answer = self.ask(self.complete.as_ref(), store, instance, completion_request(query)).await?;
                GuestAnswer::Completion(match answer {
                    Ok(Some((value, _))) => Ok(completion(value)?),
                    Ok(None) => Ok(h::Completion::default()),
                    Err(failure) => Err(failure.into_tool_error()),
                })
            }
            GuestCall::Reconcile { .. } => return Err(not_exported()),
        })
    }

    /// The answer with its streams, if the component has what was called.
    async fn ask(
        &self,
        function: Option<&WasmcpFunction>,
        store: &mut Store<Guest>,
        instance: &Instance,
        given: Vec<(&str, Val)>,
    ) -> wasmtime::Result<Result<Option<(Val, Streams)>, super::function::Failure>> {
        let function = function.ok_or_else(not_exported)?;
        let session = match self.has_sessions {
            true => Some(store.data_mut().imports()?.session().id()),
            false => None,
        };
        match function.ask(store, instance, self.version, session, given).await? {
            Ok(Some(mut value)) => {
                let streams = Streams::read(&mut value, store).await?;
                Ok(Ok(Some((value, streams))))
            }
            Ok(None) => Ok(Ok(None)),
            Err(failure) => Ok(Err(failure)),
        }
    }
}

fn not_exported() -> Error {
    Error::msg("the component does not export the interface that is called")
}

fn tool_result(value: Val, mut streams: Streams) -> wasmtime::Result<h::ToolResult> {
    let mut result = RecordFields::read(value)?;
    Ok(h::ToolResult {
        content: result.take("content", |blocks| list(blocks, |block| content(block, &mut streams)))?,
        structured: result.option("structured-content", text)?,
        is_error: result.option("is-error", boolean)?.unwrap_or(false),
    })
}

fn resource_contents(value: Val, mut streams: Streams) -> wasmtime::Result<Vec<h::EmbeddedResource>> {
    RecordFields::read(value)?.take("contents", |contents| list(contents, |item| resource(item, &mut streams)))
}

fn prompt_result(value: Val, mut streams: Streams) -> wasmtime::Result<h::PromptResult> {
    let message = |value: Val| {
        let mut message = RecordFields::read(value)?;
        Ok(h::PromptMessage {
            role: message.take("role", role)?,
            content: message.take("content", |block| content(block, &mut streams))?,
        })
    };
    let mut result = RecordFields::read(value)?;
    Ok(h::PromptResult {
        description: result.option("description", text)?,
        messages: result.take("messages", |messages| list(messages, message))?,
    })
}

fn completion_request(query: h::CompletionQuery) -> Vec<(&'static str, Val)> {
    let h::CompletionQuery { of, argument, value, context } = query;
    let (case, of) = match of {
        h::CompletionTarget::Prompt(name) => ("prompt", record(vec![("name", string(name)), ("title", none())])),
        h::CompletionTarget::Template(template) => ("resource-template", string(template)),
    };
    let mut given = vec![
        ("argument", record(vec![("name", string(argument)), ("value", string(value))])),
        ("ref", Val::Variant(case.into(), Some(Box::new(of)))),
    ];
    if !context.is_empty() {
        given.push(("context", record(vec![("arguments", some(string(object(context))))])));
    }
    given
}

fn completion(value: Val) -> wasmtime::Result<h::Completion> {
    let mut result = RecordFields::read(value)?;
    Ok(h::Completion {
        values: result.take("values", |values| list(values, text))?,
        total: result.option("total", unsigned)?,
        has_more: result.option("has-more", boolean)?.unwrap_or(false),
    })
}

/// Arguments as the text of a JSON object.
fn object(arguments: Vec<(String, String)>) -> String {
    let members = arguments.into_iter().map(|(name, value)| (name, Value::String(value)));
    Value::Object(members.collect::<Map<_, _>>()).to_string()
}
