//! The interfaces that a component exports, found once when it is linked.

use super::super::values::TypeCheck;
use super::function::WasmcpFunction;
use super::sessions;
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

/// The functions that are called; none for an interface that is not exported.
pub(in super::super) struct WasmcpExports {
    /// The version of MCP, as the dialect names it.
    pub(super) version: &'static str,
    /// Whether its calls get the id of a session.
    pub(super) has_sessions: bool,
    pub(super) list_tools: Option<WasmcpFunction>,
    pub(super) call_tool: Option<WasmcpFunction>,
    pub(super) list_resources: Option<WasmcpFunction>,
    pub(super) list_templates: Option<WasmcpFunction>,
    pub(super) read_resource: Option<WasmcpFunction>,
    pub(super) list_prompts: Option<WasmcpFunction>,
    pub(super) get_prompt: Option<WasmcpFunction>,
    pub(super) complete: Option<WasmcpFunction>,
}

impl WasmcpExports {
    /// `package`: the dialect's. The error is a sentence.
    pub(in super::super) fn find(
        engine: &Engine,
        component: &Component,
        package: &str,
        version: &'static str,
    ) -> Result<Self, String> {
        let mut search = Search { engine, component, package, types: TypeCheck::new() };
        let tools = search.interface("tools");
        let (resources, prompts) = (search.interface("resources"), search.interface("prompts"));
        if tools.is_none() && resources.is_none() && prompts.is_none() {
            return Err(format!(
                "it exports none of `{package}/tools`, `{package}/resources` and `{package}/prompts`: transports and middleware \
                 of wasmcp are not run here, where the host is the server; give the component itself, not composed"
            ));
        }
        let completions = search.interface("completions");
        Ok(Self {
            version,
            has_sessions: sessions::are_imported(component),
            list_tools: search.function(tools.as_deref(), "list-tools", &[])?,
            call_tool: search.function(tools.as_deref(), "call-tool", &["name", "arguments"])?,
            list_resources: search.function(resources.as_deref(), "list-resources", &[])?,
            list_templates: search.function(resources.as_deref(), "list-resource-templates", &[])?,
            read_resource: search.function(resources.as_deref(), "read-resource", &["uri"])?,
            list_prompts: search.function(prompts.as_deref(), "list-prompts", &[])?,
            get_prompt: search.function(prompts.as_deref(), "get-prompt", &["name", "arguments"])?,
            complete: search.function(completions.as_deref(), "complete", &["argument", "ref", "context"])?,
        })
    }
}

struct Search<'a> {
    engine: &'a Engine,
    component: &'a Component,
    package: &'a str,
    types: TypeCheck,
}

impl Search<'_> {
    /// The full name of an exported interface.
    fn interface(&self, name: &str) -> Option<String> {
        let prefix = format!("{}/{name}@0.1.", self.package);
        let ty = self.component.component_type();
        ty.exports(self.engine).map(|(name, _)| name).find(|name| name.starts_with(&prefix)).map(str::to_owned)
    }

    /// A function of an interface, which must have it.
    fn function(
        &mut self,
        interface: Option<&str>,
        name: &str,
        given: &[&str],
    ) -> Result<Option<WasmcpFunction>, String> {
        let Some(interface) = interface else { return Ok(None) };
        let lacks = || format!("it exports `{interface}`, but without `{name}`");
        let outer = self.component.get_export_index(None, interface).ok_or_else(lacks)?;
        let (item, index) = self.component.get_export(Some(&outer), name).ok_or_else(lacks)?;
        let ComponentItem::ComponentFunc(ty) = item else { return Err(lacks()) };
        let function = WasmcpFunction::new(index, &ty, given, &mut self.types);
        function.map(Some).map_err(|reason| format!("`{interface}#{name}` {reason}"))
    }
}
