//! The extension `dev.portcullis/client-tools` as requests and results carry it; `wit/extensions/client-tools.md`
//! specifies it. The module `reverse` routes reverse calls to these tools.

mod declaration;
pub(crate) mod in_tasks;
mod params;
pub(crate) mod retry;
pub(crate) mod stored;

pub(crate) use declaration::{DeclaredTool, ToolDeclaration, capability_settings, is_channel_name};
pub(crate) use params::{ReverseParams, SessionDeclaration};
