//! The functions of the interface, found once when a component is linked.

use super::super::guest::Guest;
use super::super::plain::json_size;
use super::super::store::charge_with_bytes;
use super::super::values::{TypeCheck, mismatch};
use crate::imports::price;
use wasmtime::component::types::{ComponentItem, Type};
use wasmtime::component::{Component, ComponentExportIndex, Instance, Val};
use wasmtime::{AsContextMut as _, Engine, Error, Store};

const INTERFACE: &str = "wasix:mcp/router@";
/// The version of the interface; earlier ones have other types.
const VERSION: &str = "25.6.";

pub(in super::super) struct WasixExports {
    pub(super) list_tools: WasixFunction,
    pub(super) call_tool: WasixFunction,
    pub(super) list_resources: WasixFunction,
    pub(super) read_resource: WasixFunction,
    pub(super) list_prompts: WasixFunction,
    pub(super) get_prompt: WasixFunction,
}

/// A function that takes strings and returns one value.
pub(super) struct WasixFunction(ComponentExportIndex);

impl WasixExports {
    /// The error is a sentence.
    pub(in super::super) fn find(engine: &Engine, component: &Component) -> Result<Self, String> {
        let ty = component.component_type();
        let mut versions = ty.exports(engine).filter_map(|(name, _)| name.strip_prefix(INTERFACE));
        let Some(version) = versions.find(|version| version.starts_with(VERSION)) else {
            return Err(
                "it exports another version of `wasix:mcp/router` than 25.6.18, which this host has; build it for that"
                    .into(),
            );
        };
        let interface = format!("{INTERFACE}{version}");
        let mut types = TypeCheck::new();
        let mut function = |name: &str, params: usize| {
            let lacks = || format!("it exports `{interface}`, but without a `{name}` that takes {params} strings");
            let outer = component.get_export_index(None, &interface).ok_or_else(lacks)?;
            let (item, index) = component.get_export(Some(&outer), name).ok_or_else(lacks)?;
            let ComponentItem::ComponentFunc(ty) = item else { return Err(lacks()) };
            let are_strings = ty.params().all(|(_, ty)| ty == Type::String);
            if ty.async_() || ty.params().len() != params || ty.results().len() != 1 || !are_strings {
                return Err(lacks());
            }
            let checked = ty.results().try_for_each(|ty| types.check(&ty));
            checked.map_err(|reason| format!("`{interface}#{name}` {reason}"))?;
            Ok(WasixFunction(index))
        };
        Ok(Self {
            list_tools: function("list-tools", 0)?,
            call_tool: function("call-tool", 2)?,
            list_resources: function("list-resources", 0)?,
            read_resource: function("read-resource", 1)?,
            list_prompts: function("list-prompts", 0)?,
            get_prompt: function("get-prompt", 1)?,
        })
    }
}

impl WasixFunction {
    pub(super) async fn call(
        &self,
        store: &mut Store<Guest>,
        instance: &Instance,
        params: &[Val],
    ) -> wasmtime::Result<Val> {
        charge_with_bytes(&mut store.as_context_mut(), price::CALL, params.iter().map(json_size).sum())?;
        let function = instance.get_func(&mut *store, self.0);
        let function = function.ok_or_else(|| Error::msg("the component lacks a function that it exports"))?;
        let mut results = [Val::Bool(false)];
        function.call_async(&mut *store, params, &mut results).await?;
        let [returned] = results;
        charge_with_bytes(&mut store.as_context_mut(), price::CALL, json_size(&returned))?;
        match returned {
            // Handles of a component's own resources cannot be read, and no dialect has any here.
            Val::Resource(_) => Err(mismatch("a value")),
            other => Ok(other),
        }
    }
}
