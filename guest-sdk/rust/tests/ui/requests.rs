//! Requests that no operator could grant.

#[portcullis_guest::plugin(requests(filesystem = "all"))]
mod access {}

#[portcullis_guest::plugin(requests(network = "all"))]
mod unknown {}

#[portcullis_guest::plugin(requests(agent_tools = ["notes"]))]
mod incomplete {}

#[portcullis_guest::plugin(requests(client(forms)))]
mod question {}

#[portcullis_guest::plugin(requests(events = ["everything"]))]
mod event {}

#[portcullis_guest::plugin(requests(connections = ["git hub"]))]
mod connection {}

#[portcullis_guest::plugin(requests(connections = [github]))]
mod not_text {}

#[portcullis_guest::plugin(requests(env = ["A B"]))]
mod variable {}

fn main() {}
