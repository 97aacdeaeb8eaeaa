//! The fake host, so that tools run natively in tests.

pub(crate) use crate::testing::state::{
    call_agent_tool, deadline_left, emit, folders, fuel_left, list_agent_tools, log, progress,
};
