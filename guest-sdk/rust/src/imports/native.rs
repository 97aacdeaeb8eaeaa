//! The fake host, so that tools run natively in tests.

pub(crate) use crate::testing::{
    agent_tools::{call_agent_tool, call_agent_tools, list_agent_tools},
    checkpoint::{restored, save_checkpoint},
    client::{ask, ask_many, supported},
    connections::{connected, send},
    http::send_http,
    published::{append_resource, emit_event, put_prompt, put_resource, remove_prompt, remove_resource},
    state::{deadline_left, emit, folders, fuel_left, log, progress, received, steered},
    values::{get_state, remove_state, set_state, state_keys, swap_state},
};
