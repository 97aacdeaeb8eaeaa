//! Shared code of all misbehaving guests: bindings made directly from the WIT, as an author without our SDK would make
//! them, and a macro that turns one function into a plugin with one tool, `run`.

/// Generated from `wit/v0.1`.
#[allow(missing_docs, reason = "generated; the WIT has the words")]
pub mod bindings {
    wit_bindgen::generate!({
        world: "plugin",
        path: "../../wit/v0.1",
        pub_export_macro: true,
        default_bindings_module: "guests::bindings",
    });
}

pub use bindings::exports::portcullis::plugin::tools::Guest;
pub use bindings::portcullis::plugin::types::{
    CallContext, Content, ContentData, Execution, Role, Tool, ToolAnnotations, ToolError, ToolResult,
};
pub use bindings::portcullis::plugin::{
    agent_tools, checkpoint, client, connections, log, meter, output, progress, state, steering,
};

mod attempts;
mod outcome;
pub mod raw;
mod stamp;
pub use attempts::Attempts;
pub use outcome::{agent_failure, answered, failed, structured, text};
pub use wasip2;

/// The result of a tool call.
pub type Outcome = Result<ToolResult, ToolError>;

/// The arguments that every `run` takes.
#[derive(Debug, Default)]
pub struct Args {
    /// A number; each guest defines its meaning.
    pub n: Option<u64>,
    /// A path; each guest defines its meaning.
    pub path: Option<String>,
    /// All arguments, as the host sent them.
    pub text: String,
}

impl Args {
    /// Parses the arguments. The host has checked them against the schema, so a missing value was not given.
    pub fn parse(arguments: &str) -> Self {
        let given: serde_json::Value = serde_json::from_str(arguments).unwrap_or_default();
        Self { n: given["n"].as_u64(), path: given["path"].as_str().map(str::to_owned), text: arguments.to_owned() }
    }

    /// `n`, or the guest's default.
    pub fn n_or(&self, default: u64) -> u64 {
        self.n.unwrap_or(default)
    }

    /// `path`, or the guest's default.
    pub fn path_or(&self, default: &str) -> String {
        self.path.clone().unwrap_or_else(|| default.to_owned())
    }
}

/// The description of `run`.
pub fn run_tool() -> Tool {
    tool("run", None)
}

/// The description of a tool that takes [`Args`].
pub fn tool(name: &str, output_schema: Option<&str>) -> Tool {
    Tool {
        name: name.to_owned(),
        title: None,
        description: "Misbehaves.".to_owned(),
        input_schema: r#"{"type":"object","properties":{"n":{"type":"integer","minimum":0},"path":{"type":"string"}},"additionalProperties":false}"#
            .to_owned(),
        output_schema: output_schema.map(str::to_owned),
        annotations: ToolAnnotations { read_only: None, destructive: None, idempotent: None, open_world: None },
        execution: Execution::Inline,
        icons: vec![],
    }
}

/// Makes a plugin from one function: `guest! { fn run(args) -> Outcome { ... } }`. With `list = EXPR;` in front,
/// `list-tools` returns EXPR instead of the one tool `run`.
#[macro_export]
macro_rules! guest {
    (fn run($args:ident) $body:block) => {
        $crate::guest! { list = vec![$crate::run_tool()]; fn run($args) $body }
    };
    (list = $list:expr; fn run($args:ident) $body:block) => {
        struct Plugin;

        impl $crate::Guest for Plugin {
            fn list_tools() -> Vec<$crate::Tool> {
                $list
            }

            fn call_tool(_: $crate::CallContext, _: String, arguments: String) -> $crate::Outcome {
                let $args = $crate::Args::parse(&arguments);
                let _ = &$args;
                $body
            }
        }

        $crate::bindings::export!(Plugin with_types_in $crate::bindings);
    };
}
