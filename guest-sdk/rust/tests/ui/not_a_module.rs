//! The attribute on something other than a module.

#[portcullis_guest::plugin]
fn greet() {}

fn main() {}
