//! Requests that no operator could grant.

#[portcullis_guest::plugin(requests(filesystem = "all"))]
mod access {}

#[portcullis_guest::plugin(requests(network = "all"))]
mod unknown {}

#[portcullis_guest::plugin(requests(agent_tools = ["notes"]))]
mod incomplete {}

fn main() {}
