//! Agent tools that are closures, and the calls of them.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::Value;

use crate::ToolResult;
use crate::host_types::agent_tools::{AgentError, CallOptions};

/// One call of an agent tool, whether it succeeded or not.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentCall {
    /// `<agent plugin>.<tool>`
    pub name: String,
    /// The arguments.
    pub arguments: Value,
    /// The options of the call.
    pub options: CallOptions,
}

pub(crate) type AgentTool = Rc<RefCell<dyn FnMut(Value) -> Result<ToolResult, AgentError>>>;
