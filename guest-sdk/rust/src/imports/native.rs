//! The fake host, so that tools run natively in tests.

pub(crate) use crate::testing::state::{
    call_agent_tool, call_agent_tools, deadline_left, emit, folders, fuel_left, list_agent_tools, log, progress,
    steered,
};
pub(crate) use crate::testing::{
    client::{ask, ask_many, supported},
    connections::{connected, send},
    http::send_http,
    published::{append_resource, emit_event, put_prompt, put_resource, remove_prompt, remove_resource},
    values::{get_state, remove_state, set_state, state_keys, swap_state},
};
