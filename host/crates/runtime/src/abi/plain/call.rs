//! Calls a function, and makes a tool's result of what it returns.

use super::super::guest::Guest;
use super::super::guest_call::{GuestAnswer, GuestCall};
use super::super::store::charge_with_bytes;
use super::bytes::{BytesParameter, BytesValue, Shape};
use super::function::PlainFunction;
use super::functions::{Callable, Functions};
use super::memory::{ValueMemory, json_size};
use super::read::{ConversionError, Read, Reader, read_bytes};
use super::resources::Receiver;
use super::tool::RESULT;
use super::types::Ty;
use super::write::{WriteError, WriteResult, Writer};
use crate::engine::{CallError, Supervised as _, is_large, work_in_pool_if_large};
use crate::imports::{Content, ToolError, ToolResult, price};
use serde_json::{Map, Value};
use std::sync::Arc;
use wasmtime::component::{Instance, ResourceAny, Val};
use wasmtime::{AsContextMut as _, Error, Store};

/// The arguments of a call, converted.
enum Values {
    Chunks(Vec<BytesValue>),
    Values(Vec<Val>),
}

/// What a function returned.
enum Returned {
    Nothing,
    Chunk(BytesValue),
    Value(Val),
}

impl Returned {
    /// About the size of its JSON.
    fn size(&self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Chunk(BytesValue::Text(text)) => text.len() as u64,
            Self::Chunk(BytesValue::Bytes(bytes)) => bytes.len() as u64,
            Self::Value(value) => json_size(value),
        }
    }
}

impl Functions {
    /// Calls a tool: such a component has nothing else that can be called.
    pub(in super::super) async fn call(
        &self,
        call: GuestCall,
        store: &mut Store<Guest>,
        instance: &Instance,
    ) -> wasmtime::Result<GuestAnswer> {
        match call {
            GuestCall::Tool { name, arguments } => {
                let called = match self.tools.get(&*name) {
                    Some(Callable::Function(function)) => call_function(function, arguments, store, instance).await,
                    Some(Callable::Program(program)) => program.call(arguments, store, instance).await,
                    None => Err(Error::msg("the component has no such function")),
                };
                Ok(GuestAnswer::Tool(called?))
            }
            GuestCall::Resource { .. }
            | GuestCall::Prompt { .. }
            | GuestCall::Completion(_)
            | GuestCall::Reconcile { .. } => Err(Error::msg("the component exports nothing that can be called so")),
        }
    }
}

async fn call_function(
    function: &Arc<PlainFunction>,
    arguments: String,
    store: &mut Store<Guest>,
    instance: &Instance,
) -> wasmtime::Result<Result<ToolResult, ToolError>> {
    let limits = store.data_mut().supervision().allowance().limits.clone();
    let (size, hostcall, of) = (arguments.len(), limits.hostcall.as_u64(), function.clone());
    let read = move || {
        let mut memory = ValueMemory::new(size, hostcall);
        (read_arguments(&of, &arguments, &mut memory), memory.values)
    };
    let (values, count) = convert(store, size as u64, read).await?;
    charge_with_bytes(&mut store.as_context_mut(), price::CALL, (size as u64).saturating_add(count))?;
    let values = match values {
        Ok(values) => values,
        Err(error) => return Ok(Err(ToolError::InvalidArguments(sentence(error)))),
    };
    // Set before anything is lifted, because wasmtime counts only a small part of what values of some types take.
    let liftable = hostcall / function.hostcall_divisor;
    store.set_hostcall_fuel(usize::try_from(liftable).unwrap_or(usize::MAX));
    let exported = instance.get_func(&mut *store, function.index);
    let exported = exported.ok_or_else(|| Error::msg("the component does not have the function that it exports"))?;
    let returned = match (values, &function.shape) {
        (Values::Chunks(chunks), Some(shape)) => match shape.call(exported, &mut *store, chunks).await? {
            Ok(chunk) => Ok(chunk.map_or(Returned::Nothing, Returned::Chunk)),
            Err(text) => Err(Returned::Chunk(BytesValue::Text(text))),
        },
        (Values::Values(mut values), _) => {
            let made = match &function.receiver {
                Some(receiver) => Some(make_receiver(receiver, &mut values, store, instance).await?),
                None => None,
            };
            let mut results = vec![Val::Bool(false); usize::from(function.ok.is_some() || function.err.is_some())];
            exported.call_async(&mut *store, &values, &mut results).await?;
            if let Some(made) = made {
                made.resource_drop_async(&mut *store).await?;
            }
            returned(function, results.pop())
        }
        (Values::Chunks(_), None) => return Err(Error::msg("bytes for a function that takes none")),
    };
    let (limit, of) = (limits.output.as_u64(), function.clone());
    let size = returned.as_ref().map_or_else(Returned::size, Returned::size);
    let write = move || {
        let mut writer = Writer::new(limit);
        (answer(&of, returned, &mut writer), writer.work())
    };
    let (result, work) = convert(store, size, write).await?;
    charge_with_bytes(&mut store.as_context_mut(), price::CALL, work)?;
    match result {
        Ok(result) => Ok(Ok(result)),
        Err(WriteError::TooLong) => Err(CallError::OutputExceeded { limit, used: limit.saturating_add(1) }.into()),
        Err(WriteError::Mismatch) => Err(Error::msg("a value is not of its type")),
    }
}

/// Makes the resource of a method from the arguments of its constructor, and puts it in their place.
async fn make_receiver(
    receiver: &Receiver,
    values: &mut Vec<Val>,
    store: &mut Store<Guest>,
    instance: &Instance,
) -> wasmtime::Result<ResourceAny> {
    let taken = match receiver.has_params {
        true => match values.remove(0) {
            Val::Record(fields) => fields.into_iter().map(|(_, value)| value).collect(),
            _ => return Err(Error::msg("what a constructor takes is no record")),
        },
        false => Vec::new(),
    };
    let constructor = instance.get_func(&mut *store, receiver.constructor);
    let constructor = constructor.ok_or_else(|| Error::msg("the component does not have the constructor"))?;
    let mut made = [Val::Bool(false)];
    constructor.call_async(&mut *store, &taken, &mut made).await?;
    let [Val::Resource(made)] = made else { return Err(Error::msg("a constructor made no resource")) };
    values.insert(0, Val::Resource(made));
    Ok(made)
}

/// Converts values whose text has about so many bytes: large ones in the compute pool, since nothing can interrupt the
/// conversion.
async fn convert<T: Send + 'static>(
    store: &mut Store<Guest>,
    bytes: u64,
    work: impl FnOnce() -> T + Send + 'static,
) -> wasmtime::Result<T> {
    if !is_large(bytes) {
        return Ok(work());
    }
    let scope = &store.data_mut().imports()?.scope;
    let owner = (scope.context.principal.clone(), scope.authority.plugin().clone());
    Ok(work_in_pool_if_large(bytes, || owner, work).await)
}

fn read_arguments(function: &PlainFunction, arguments: &str, memory: &mut ValueMemory) -> Read<Values> {
    let invalid = |reason: String| ConversionError::Invalid { place: vec![], reason };
    let mut object: Map<String, Value> =
        serde_json::from_str(arguments).map_err(|error| invalid(format!("are not a JSON object: {error}")))?;
    if let Some(Shape { params, .. }) = &function.shape {
        let mut chunks = Vec::new();
        for (slot, (name, _)) in params.iter().zip(&function.params) {
            let wrong = |reason: &str| ConversionError::Invalid { place: vec![name.clone()], reason: reason.into() };
            chunks.push(match (slot, object.swap_remove(name)) {
                (BytesParameter::Text, Some(Value::String(text))) => BytesValue::Text(text),
                (BytesParameter::Bytes, Some(Value::String(text))) => {
                    BytesValue::Bytes(read_bytes(&text).map_err(|e| e.at(name))?)
                }
                (_, Some(_)) => return Err(wrong("is not a string")),
                (_, None) => return Err(wrong("is missing")),
            });
        }
        return Ok(Values::Chunks(chunks));
    }
    let params = function.params.iter().map(|(name, ty)| (name.as_str(), ty));
    let values = Reader { memory }.fields(params, object)?;
    Ok(Values::Values(values.into_iter().map(|(_, value)| value).collect()))
}

fn sentence(error: ConversionError) -> String {
    match error {
        ConversionError::Invalid { place, reason } => {
            let place: String = place.iter().rev().map(|part| format!("/{part}")).collect();
            if place.is_empty() { format!("they {reason}") } else { format!("{place} {reason}") }
        }
        ConversionError::TooLarge => {
            "as values they take more memory than limits.hostcall and their own size allow; leave out less".into()
        }
    }
}

/// Splits a `result` into its value and its error.
fn returned(function: &PlainFunction, value: Option<Val>) -> Result<Returned, Returned> {
    let payload = |payload: Option<Box<Val>>| payload.map_or(Returned::Nothing, |value| Returned::Value(*value));
    match (value, &function.err) {
        (None, _) => Ok(Returned::Nothing),
        (Some(Val::Result(Ok(value))), Some(_)) => Ok(payload(value)),
        (Some(Val::Result(Err(value))), Some(_)) => Err(payload(value)),
        (Some(value), _) => Ok(Returned::Value(value)),
    }
}

fn answer(
    function: &PlainFunction,
    returned: Result<Returned, Returned>,
    writer: &mut Writer,
) -> Result<ToolResult, WriteError> {
    let text = |text: String| vec![Content::text(text)];
    let returned = match returned {
        Ok(returned) => returned,
        Err(error) => {
            let err = function.err.as_ref().and_then(Option::as_ref);
            let content = text(error_text(err, error, writer)?);
            return Ok(ToolResult { content, structured: None, is_error: true });
        }
    };
    let Some(ty) = &function.ok else {
        return Ok(ToolResult { content: text(String::new()), structured: None, is_error: false });
    };
    match ty {
        Ty::Record(_) => write(ty, &returned, writer)?,
        _ => {
            writer.raw(&format!("{{\"{RESULT}\":"))?;
            write(ty, &returned, writer)?;
            writer.raw("}")?;
        }
    }
    // A model reads a string better without its JSON. For other values, the host makes the text of the JSON.
    let content = match returned {
        Returned::Chunk(BytesValue::Text(shown)) | Returned::Value(Val::String(shown)) => text(shown),
        Returned::Nothing | Returned::Chunk(BytesValue::Bytes(_)) | Returned::Value(_) => vec![],
    };
    Ok(ToolResult { content, structured: Some(writer.take()?), is_error: false })
}

fn error_text(ty: Option<&Ty>, error: Returned, writer: &mut Writer) -> Result<String, WriteError> {
    match (ty, error) {
        (_, Returned::Chunk(BytesValue::Text(text)) | Returned::Value(Val::String(text))) => {
            writer.string(&text)?;
            Ok(text)
        }
        (Some(ty), error) => {
            write(ty, &error, writer)?;
            writer.take()
        }
        (None, _) => Ok("it failed, and gave no reason".into()),
    }
}

fn write(ty: &Ty, value: &Returned, writer: &mut Writer) -> WriteResult {
    match value {
        Returned::Nothing => Err(WriteError::Mismatch),
        Returned::Chunk(BytesValue::Text(text)) => writer.string(text),
        Returned::Chunk(BytesValue::Bytes(bytes)) => writer.bytes(bytes),
        Returned::Value(value) => writer.value(ty, value),
    }
}
