//! The interface that a component exports: its tools are listed and called.

use super::super::guest::Guest;
use super::super::guest_call::{GuestAnswer, GuestCall};
use super::super::store::charge_with_bytes;
use super::bindings::act::tools::types as tools;
use super::bindings::exports::act::tools_sync::tool_provider_sync::GuestIndices;
use super::localized::text;
use super::{cbor, result};
use crate::imports::{Execution, Offer, Tool, ToolAnnotations, ToolError, price};
use serde_json::Value;
use wasmtime::component::{Instance, InstancePre};
use wasmtime::{AsContextMut as _, Error, Store};

pub(in super::super) struct ActExports(GuestIndices);

impl ActExports {
    /// The error is a sentence.
    pub(in super::super) fn find(component: &InstancePre<Guest>) -> Result<Self, String> {
        GuestIndices::new(component).map(Self).map_err(|error| {
            format!(
                "it does not export `act:tools-sync/tool-provider-sync@0.1.0` with both of its functions: {error:#}"
            )
        })
    }

    pub(in super::super) async fn describe(
        &self,
        store: &mut Store<Guest>,
        instance: &Instance,
    ) -> wasmtime::Result<Offer> {
        let listed = self.0.load(&mut *store, instance)?.call_list_tools(&mut *store, &vec![]).await?;
        let listed =
            listed.map_err(|error| Error::msg(format!("it cannot list its tools: {}", text(error.message))))?;
        Ok(Offer { tools: listed.tools.into_iter().map(tool).collect(), ..Offer::default() })
    }

    pub(in super::super) async fn call(
        &self,
        call: GuestCall,
        store: &mut Store<Guest>,
        instance: &Instance,
    ) -> wasmtime::Result<GuestAnswer> {
        let GuestCall::Tool { name, arguments } = call else {
            return Err(Error::msg("a component of this dialect has tools only"));
        };
        charge_with_bytes(&mut store.as_context_mut(), price::CALL, arguments.len() as u64)?;
        let arguments = match cbor::from_json(&arguments) {
            Ok(arguments) => arguments,
            Err(reason) => return Ok(GuestAnswer::Tool(Err(ToolError::InvalidArguments(reason)))),
        };
        let provider = self.0.load(&mut *store, instance)?;
        let events = provider.call_call_tool(&mut *store, &name, &arguments, &vec![]).await?;
        charge_with_bytes(&mut store.as_context_mut(), price::CALL, events.iter().map(size).sum())?;
        result::from_events(events).map(GuestAnswer::Tool)
    }
}

fn tool(tool: tools::ToolDefinition) -> Tool {
    let hint = |key: &str| {
        let (_, value) = tool.metadata.iter().find(|(name, _)| name == key)?;
        cbor::to_json(value).ok().as_ref().and_then(Value::as_bool)
    };
    let annotations = ToolAnnotations {
        read_only: hint("std:read-only"),
        destructive: hint("std:destructive"),
        idempotent: hint("std:idempotent"),
        open_world: None,
    };
    Tool {
        annotations,
        name: tool.name,
        title: None,
        description: text(tool.description),
        input_schema: tool.parameters_schema,
        output_schema: None,
        execution: Execution::Inline,
        icons: vec![],
    }
}

fn size(event: &tools::ToolEvent) -> u64 {
    match event {
        tools::ToolEvent::Content(part) => part.data.len() as u64 + price::CALL,
        tools::ToolEvent::Error(_) => price::CALL,
    }
}
